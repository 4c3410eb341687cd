"""Recurring events and tasks: of several occurrences of one series, the best ranked stands for the others.

Each occurrence is an item of its own, so that requests can mean one by its time. In a ranking, the others
follow behind what else was found: a daily task would otherwise fill it.
"""

import re
from collections.abc import Callable, Sequence

from contextune.types import Item

_OCCURRENCE = re.compile(r"(.+-[0-9a-f]{20})-\d{8}(?:T\d{6}Z?)?")
"""The id of an occurrence, as importers make it: that of the series and the original time."""


def series_of(item: Item) -> str | None:
    """The id of the series that an item is an occurrence of; None if it does not recur."""
    match = _OCCURRENCE.fullmatch(item.id)
    return match[1] if match else None


def first_occurrences(rows: Sequence[int], item: Callable[[int], Item], count: int) -> list[int]:
    """The rows in a new order: `count` ones without further occurrences of a series, those, and the rest.

    `item` returns the item of a row; it is called only as far as needed.
    """
    first: list[int] = []
    others: list[int] = []
    seen: set[str] = set()
    for row in rows:
        if len(first) == count:
            break
        series = series_of(item(row))
        (others if series in seen else first).append(row)
        if series is not None:
            seen.add(series)
    return [*first, *others, *rows[len(first) + len(others) :]]
