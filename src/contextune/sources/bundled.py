"""The data in the package: personas, training pairs and the toolbox. Every person in them is invented."""

from importlib.resources import files
from pathlib import Path

from contextune.sources.pairs import Pair, read_pairs
from contextune.sources.persona import Persona, read_personas


def asset(name: str) -> Path:
    """Where a file or folder of the package's assets lies."""
    return Path(str(files("contextune") / "assets" / name))


def bundled_personas() -> list[Persona]:
    """The personas in the package."""
    return list(read_personas(asset("personas")))


def training_personas() -> list[Persona]:
    """More personas in the package, by other hands: to learn from, never to measure on."""
    return list(read_personas(asset("training")))


def bundled_pairs() -> list[Pair]:
    """The training pairs in the package."""
    return list(read_pairs(asset("pairs.jsonl")))
