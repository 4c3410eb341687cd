"""The data in the package: personas, training pairs and the toolbox. Every person in them is invented."""

import json
from typing import NamedTuple

from contextune._internal.assets import asset
from contextune.datasets.pairs import Pair, read_pairs
from contextune.datasets.persona import Persona, read_personas


def bundled_personas() -> list[Persona]:
    """The personas in the package."""
    return list(read_personas(asset("personas")))


def training_personas() -> list[Persona]:
    """More personas in the package, by other hands: to learn from, never to measure on."""
    return list(read_personas(asset("training")))


def bundled_pairs() -> list[Pair]:
    """The training pairs in the package."""
    return list(read_pairs(asset("pairs.jsonl.gz")))


def training_pairs() -> list[Pair]:
    """More pairs in the package, by other hands."""
    return list(read_pairs(asset("training/pairs.jsonl.gz")))


class PlainRequest(NamedTuple):
    """A request, the bundled API that serves it if any does, and whether it leaves things out."""

    text: str
    api: str | None
    implicit: bool


def plain_requests() -> list[PlainRequest]:
    """Requests that say all, that no tool serves, or both, to learn from when to say that nothing fits."""
    lines = asset("training/plain.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [PlainRequest(row["query"], row["api"], row["context"]) for row in rows]
