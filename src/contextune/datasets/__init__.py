"""Synthetic users (personas), training pairs and other bundled data."""

from contextune.datasets.bundled import (
    PlainRequest,
    bundled_pairs,
    bundled_persona_file,
    bundled_persona_files,
    bundled_personas,
    demo_personas,
    everyday_requests,
    plain_requests,
    training_pairs,
    training_personas,
    training_requests,
)
from contextune.datasets.habits import load_persona, usage_events
from contextune.datasets.pairs import Pair, PairItem, read_pairs
from contextune.datasets.persona import (
    Gold,
    Habit,
    Persona,
    Query,
    parse_persona,
    persona_files,
    persona_json,
    read_persona,
    read_personas,
)

__all__ = [
    "Gold",
    "Habit",
    "Pair",
    "PairItem",
    "Persona",
    "PlainRequest",
    "Query",
    "bundled_pairs",
    "bundled_persona_file",
    "bundled_persona_files",
    "bundled_personas",
    "demo_personas",
    "everyday_requests",
    "load_persona",
    "parse_persona",
    "persona_files",
    "persona_json",
    "plain_requests",
    "read_pairs",
    "read_persona",
    "read_personas",
    "training_pairs",
    "training_personas",
    "training_requests",
    "usage_events",
]
