"""Songs, searches and callers come up again and again: each is one item, and every time a use of it."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from contextune.importers.reader import Found, ImportContext
from contextune.types import Item, UsageEvent

_FIRST_YEAR = 1995
_SOON = timedelta(days=1)
NO_TIME = "an entry without a time that can be read"


class RepeatedItems:
    """What one file says again and again.

    An item is told when it first comes up, so that its uses find it, and once more at the end if it
    came up later: files run forwards or backwards. Only the items are remembered, never the uses.
    """

    def __init__(self, about: ImportContext) -> None:
        self._about = about
        self._last: dict[str, datetime] = {}
        self._later: dict[str, Item] = {}

    def met(self, item: Item, time: datetime, *, used: bool = True) -> Iterator[Found]:
        """It came up at this time, which is what the item says of itself; `used` if by the user's doing."""
        clock = self._about.clock(time)
        known = self._last.get(item.id)
        if known is None:
            yield item
        elif clock > known:
            self._later[item.id] = item
        if known is None or clock > known:
            self._last[item.id] = clock
        if used:
            yield UsageEvent(item.id, time.replace(microsecond=0))

    def latest(self) -> Iterator[Found]:
        """The items that came up again after they were told, as they were last."""
        yield from self._later.values()
        self._later.clear()


def possible(time: datetime, about: ImportContext) -> bool:
    """Whether something on record can be of this time: devices whose clock is off write 1970, or 2037."""
    if time.tzinfo is None or about.now.tzinfo is None:
        time, now = about.clock(time), about.clock(about.now)
    else:
        now = about.now  # two instants compare as they are, which is quicker
    return time.year >= _FIRST_YEAR and time <= now + _SOON
