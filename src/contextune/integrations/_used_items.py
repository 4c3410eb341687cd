"""Which of the items in a prompt a tool call used, judged by the values of its arguments."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from contextune.plan.values import normalize_text
from contextune.types import Item, ItemHit, Request

_MIN_LENGTH = 4
"""Shorter values, such as numbers and states, occur in items by chance."""


def used_items(hits: Sequence[ItemHit], request: Request, arguments: Mapping[str, Any]) -> list[str]:
    """Ids of the items that have the value of an argument in a field: an address, a title, a number, a time.

    A value that the request contains itself is no evidence. If several items have a value, the best one
    counts.
    """
    said = normalize_text(request.text)
    used: dict[str, None] = {}
    for value in _values(arguments):
        text = normalize_text(value)
        if len(text) < _MIN_LENGTH or text in said:
            continue
        item = next((hit.item for hit in hits if _has_value(hit.item, value, text)), None)
        if item:
            used[item.id] = None
    return list(used)


def _has_value(item: Item, value: str, text: str) -> bool:
    time = _parse_time(value)
    if time is not None:
        return any(_same_time(time, own) for own in item.times.values())
    return any(normalize_text(own) == text for own in _values(item.fields))


def _values(value: object) -> Iterator[str]:
    """All texts and numbers in a JSON value."""
    if isinstance(value, Mapping):
        for part in cast("Mapping[str, object]", value).values():
            yield from _values(part)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        for part in cast("Sequence[object]", value):
            yield from _values(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _parse_time(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if "T" in value or ":" in value else None
    except ValueError:
        return None


def _same_time(time: datetime, other: datetime) -> bool:
    """Equal to the minute; a time without a zone is compared by the clock."""
    if time.tzinfo is None or other.tzinfo is None:
        time, other = time.replace(tzinfo=None), other.replace(tzinfo=None)
    return abs((time - other).total_seconds()) < 60
