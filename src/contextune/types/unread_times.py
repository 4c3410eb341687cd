"""Count fields that are named like a time and cannot be read as one."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from contextune.types.item import Item


@dataclass(frozen=True, slots=True)
class UnreadTime:
    """A field of an application that should be a time and is read as text, and in how many items."""

    app: str
    field: str
    count: int

    def __str__(self) -> str:
        """The finding in words, without any value."""
        items = "1 item" if self.count == 1 else f"{self.count:,} items"
        return (
            f"{items} of {self.app[:40]}: the field {self.field[:40]!r} is not a time "
            "(write it as 2024-05-16T19:00), so it is read as text"
        )


class UnreadTimes:
    """Counts such fields over several items."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, item: Item) -> None:
        """Count the fields of an item."""
        self._counts.update((item.app, name) for name in item.unread_times)

    def all(self) -> tuple[UnreadTime, ...]:
        """The fields so far, most frequent first."""
        return tuple(UnreadTime(*key, count) for key, count in self._counts.most_common())


def count_unread_times(items: Iterable[Item]) -> tuple[UnreadTime, ...]:
    """Fields of these items that are named like a time and cannot be read as one, most frequent first."""
    unread = UnreadTimes()
    for item in items:
        unread.add(item)
    return unread.all()
