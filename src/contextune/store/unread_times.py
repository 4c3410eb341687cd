"""Log fields that are named like a time and cannot be read as one."""

import logging
from collections import Counter

from contextune.types import Item

_log = logging.getLogger("contextune.store")


class UnreadTimes:
    """Counts such fields over the items of one call."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, item: Item) -> None:
        """Count the fields of an item."""
        self._counts.update((item.app, name) for name in item.unread_times)

    def log(self, items: int) -> None:
        """Log the fields, by application, without their values."""
        for (app, name), number in self._counts.items():
            _log.warning(
                "%d of %d items: the field %r of %.40r is not a time (write it as 2024-05-16T19:00), "
                "so it is read as text",
                number,
                items,
                name,
                app,
            )
