"""The card of a model's folder: `card.json`, with what its other files do not hold."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from contextune.errors import RankerError

Parsed = TypeVar("Parsed")
_FILE = "card.json"


def write_card(folder: Path, card: Mapping[str, Any]) -> None:
    """Write the card of a model; the folder must exist."""
    (folder / _FILE).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def read_card(folder: Path, parse: Callable[[Mapping[str, Any]], Parsed], what: str, command: str) -> Parsed:
    """Parse the card of a model; raise `RankerError`, which names `what` is missing and who creates it."""
    try:
        return parse(json.loads((folder / _FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RankerError(
            f"no usable {what} in {str(folder)!r}: {error}; create one with 'contextune train {command}'"
        ) from None
