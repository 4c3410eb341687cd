"""The view of an item that planners read: texts of a bounded length, and times with which they can calculate.

Everybody can send items. A text of 200 KB, thousands of spaces in a row or an event in the year 9999 must
cost no more, and stop no more, than any other.
"""

from dataclasses import replace
from datetime import datetime
from typing import cast

from contextune._internal.untrusted import bounded_text
from contextune.types import Item
from contextune.types.field_values import read_time

MAX_FIELD = 20_000
"""Characters of a field that planners read; importers store fewer."""
MAX_ENTRIES = 1_000
"""Entries of a list that planners read."""
_FIRST_YEAR, _LAST_YEAR = 1200, 8000  # leap years, which have every day
"""Years outside stand for "never": a shift from there would leave what `datetime` can hold."""


def clamp_time(time: datetime) -> datetime:
    """A time, moved to a year from which it can be shifted by centuries."""
    year = min(max(time.year, _FIRST_YEAR), _LAST_YEAR)
    return time if year == time.year else time.replace(year=year)


def bounded_item(item: Item) -> Item:
    """The item as planners read it; nearly always the item itself."""
    fields = {name: _bounded(value) for name, value in item.fields.items()}
    for name in item.schema.times.values():
        time = read_time(fields.get(name))
        if time is not None and (clamped := clamp_time(time)) != time:
            fields[name] = clamped.isoformat()
    return item if fields == item.fields else replace(item, fields=fields)


def _bounded(value: object) -> object:
    if isinstance(value, str):
        return bounded_text(value, MAX_FIELD)
    if isinstance(value, list):
        return [_bounded(part) for part in cast("list[object]", value)[:MAX_ENTRIES]]
    if isinstance(value, dict):
        return {name: _bounded(part) for name, part in cast("dict[str, object]", value).items()}
    return value
