"""Files people have → items. One module a format."""

from contextune.sources.bundled import (
    PlainRequest,
    asset,
    bundled_pairs,
    bundled_personas,
    plain_requests,
    training_pairs,
    training_personas,
)
from contextune.sources.importing import import_into
from contextune.sources.load import load_persona
from contextune.sources.pairs import Pair, PairItem, read_pairs
from contextune.sources.persona import (
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
from contextune.sources.readers import READERS
from contextune.sources.report import Report
from contextune.sources.usage import uses

__all__ = [
    "READERS",
    "Gold",
    "Habit",
    "Pair",
    "PairItem",
    "Persona",
    "PlainRequest",
    "Query",
    "Report",
    "asset",
    "bundled_pairs",
    "bundled_personas",
    "import_into",
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
    "uses",
]
