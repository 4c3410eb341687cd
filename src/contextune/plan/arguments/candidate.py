"""`ValueCandidate`: a value that an argument may have."""

from dataclasses import dataclass
from typing import Any, Literal

from contextune.types import Contact, Item, Source

Group = Literal["time", "person", "title", "field", "number", "choice", "boolean", "said"]


@dataclass(frozen=True, slots=True)
class ValueCandidate:
    """A value that an argument may have; `text` is what the reading model reads."""

    value: Any
    group: Group
    text: str
    source: Source
    contact: Contact | None = None
    is_day: bool = False
    """A day without an hour."""
    item: int = -1
    """The rank of the item that it is from; -1 if it is from none."""
    role: str = ""
    """What it is where it comes from, in words: "subject of mail"; empty if only its group says."""
    weight: float = 0.0
    """How strongly it is proposed, compared with others of its group."""


def origin_of(item: Item, rank: int) -> str:
    """An item as the place that a value is from: "mail 2"."""
    return f"{item.schema.noun} {rank + 1}"
