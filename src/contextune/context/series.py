"""Recurring events and tasks: of several occurrences of one series, the best ranked stands for the others.

Each occurrence of an event is an item, so that requests can mean one by its time. In a ranking, the others
follow behind what else was found: a daily event would otherwise fill it. A recurring task is one item with
all its times, and is shown at the one that a request means.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import cast

from contextune.context.mentions import mentioned_intervals
from contextune.types import Item, Request, local_time
from contextune.types.field_values import read_time

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


def meant_occurrence(item: Item, request: Request, zone: tzinfo | None) -> Item:
    """A recurring task at the occurrence that a request means, with the later ones; other items as they are.

    It is the first from the day of the request on in a time that the request names, else any in such a time,
    else the first from that day on, else the last.
    """
    due, later = item.schema.times.get("due"), item.fields.get("occurrences")
    if due is None or not isinstance(later, list):
        return item
    values = [item.fields.get(due), *cast("list[object]", later)]
    now = local_time(request.time, zone)
    times = {n: local_time(time, zone) for n, value in enumerate(values) if (time := read_time(value))}
    named = mentioned_intervals(request.text, now)
    meant = [n for start, end in named for n, time in times.items() if start <= time < end]
    ahead = [n for n, time in times.items() if time.date() >= now.date()]
    chosen = next(iter([*(n for n in meant if n in ahead), *meant, *ahead, *reversed(times)]), 0)
    return replace(item, fields={**item.fields, due: values[chosen], "occurrences": values[chosen + 1 :]})
