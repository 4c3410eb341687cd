"""Songs, searches and videos that recur in a history: one item each, with a usage event per occurrence."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from contextune.importers.reader import ImportContext, ImportRecord
from contextune.types import Item, UsageEvent

_FIRST_YEAR = 1995
_MAX_AHEAD = timedelta(days=5 * 365)
"""How far after the moment of the import a recorded time may be: that clock may be wrong, too."""
NO_TIME = "no valid time"


class RepeatedItems:
    """The recurring items of one file.

    An item is yielded at its first occurrence, so that its usage events have an item, and again at the end if
    a later occurrence followed: files are in ascending or descending order. Only items are kept in memory.
    """

    def __init__(self, context: ImportContext) -> None:
        self._context = context
        self._last: dict[str, datetime] = {}
        self._later: dict[str, Item] = {}

    def add(self, item: Item, time: datetime) -> Iterator[ImportRecord]:
        """Add an occurrence of an item at a time."""
        local = self._context.to_local(time)
        last = self._last.get(item.id)
        if last is None:
            yield item
        elif local > last:
            self._later[item.id] = item
        if last is None or local > last:
            self._last[item.id] = local
        yield UsageEvent(item.id, time.replace(microsecond=0))

    def latest(self) -> Iterator[ImportRecord]:
        """The items that occurred again after they were yielded, in their latest form."""
        yield from self._later.values()
        self._later.clear()


def is_plausible_time(time: datetime, context: ImportContext) -> bool:
    """Whether a recorded time can be right: devices with a wrong clock write 1970, or years far ahead."""
    if time.tzinfo is None or context.now.tzinfo is None:
        time, now = context.to_local(time), context.to_local(context.now)
    else:
        now = context.now  # two instants compare directly, which is faster
    return time.year >= _FIRST_YEAR and time <= now + _MAX_AHEAD
