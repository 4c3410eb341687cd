"""The text that the reader reads: a request, when and where it is said, and the first items for it."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from contextune.time_phrases.calendar_math import WEEKDAYS
from contextune.types import Item, Request
from contextune.types.time_place import local_time

MAX_ITEMS = 5
_MAX_CHARACTERS = 170
"""Of an item's text."""
SEPARATOR = " | "
_MINUTES_OF_DAY = 24 * 60


def reader_text(request: Request, items: Sequence[Item], zone: tzinfo | None) -> str:
    """One line: the request, its day, hour and place, and the first items with the time until or since."""
    return SEPARATOR.join(reader_parts(request, items, zone))


def reader_parts(request: Request, items: Sequence[Item], zone: tzinfo | None) -> list[str]:
    """The parts of the line: the request, its moment, and one for each of the first items."""
    now = local_time(request.time, zone)
    return [request.text, _moment(now, request), *(_told(item, now, zone) for item in items[:MAX_ITEMS])]


def item_part(app: str, text: str) -> str:
    """An item without a time."""
    return f"{app}: {text[:_MAX_CHARACTERS]}"


def _moment(now: datetime, request: Request) -> str:
    """Such as "Tue 16:45, at office"."""
    day = WEEKDAYS[now.weekday()][:3].capitalize()
    place = request.place.replace("_", " ") if isinstance(request.place, str) else ""
    return f"{day} {now:%H:%M}" + (f", at {place}" if place else "")


def _told(item: Item, now: datetime, zone: tzinfo | None) -> str:
    text = item_part(item.app, item.text)
    if not item.time:
        return text
    minutes = (local_time(item.time, zone) - now).total_seconds() / 60
    return f"{text} (in {_span(minutes)})" if minutes > 0 else f"{text} ({_span(-minutes)} ago)"


def _span(minutes: float) -> str:
    if minutes < 90:
        return f"{round(minutes)} min"
    if minutes < 1.5 * _MINUTES_OF_DAY:
        return f"{round(minutes / 60)} h"
    return f"{round(minutes / _MINUTES_OF_DAY)} days"
