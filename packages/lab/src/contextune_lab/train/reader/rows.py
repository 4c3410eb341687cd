"""Rows of the reader's training set, and their texts with random parts left out.

Free of the rest of the package: the machine that trains needs torch and transformers only.
"""

from dataclasses import dataclass
from random import Random
from typing import TypedDict

IMPLICIT, EXPLICIT, PAIR = "implicit", "explicit", "pair"
"""Groups of rows, besides the sources of the other call requests."""


class ReaderRow(TypedDict):
    """A request with the parts of its text."""

    name: str
    fold: int | None
    """Of its persona; None if it belongs to none and every model may train on it."""
    group: str
    text: str
    moment: str
    """Day, hour and place; may be empty."""
    items: list[str]
    tool: str | None
    """None if no tool serves the request: it is only predicted."""


class ReaderData(TypedDict):
    """The training set."""

    separator: str
    """Between the parts of a text."""
    tools: list[str]
    rows: list[ReaderRow]


@dataclass(frozen=True)
class PartDropout:
    """How often parts are left out in training, as they may be missing at run time."""

    items: float = 0.05
    moment: float = 0.1


def row_text(row: ReaderRow, separator: str) -> str:
    """The text of a row, as at run time."""
    moment = [row["moment"]] if row["moment"] else []
    return separator.join([row["text"], *moment, *row["items"]])


def varied_text(row: ReaderRow, separator: str, dropout: PartDropout, draw: Random) -> str:
    """The text of a row for one epoch, with parts left out; items of pairs, which have no rank, shuffled."""
    moment = row["moment"] if draw.random() >= dropout.moment else ""
    items = [] if draw.random() < dropout.items else row["items"]
    if row["group"] == PAIR:
        items = draw.sample(items, len(items))
    return row_text({**row, "moment": moment, "items": items}, separator)
