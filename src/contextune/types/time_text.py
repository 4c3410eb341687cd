"""Times on the user's clock, in the words of every interface, and fields that cannot be read as times."""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo

from contextune.types.field_values import is_day
from contextune.types.item import Item


def user_time(time: datetime, zone: tzinfo | None) -> datetime:
    """An instant in the user's zone (`zone=None`: the zone of the machine); a naive time is unchanged."""
    if time.tzinfo is not None:
        with suppress(OverflowError):  # 0001-01-01T00:00Z means "never"
            return time.astimezone(zone)
    return time


def format_time(time: datetime, zone: tzinfo | None, now: datetime | None = None) -> str:
    """A time on the user's clock: “Thu 16 May 14:00”, with the year if it is not the year of `now`.

    The zone is named if the time was given with another offset than the user's: “Thu 16 May 06:00 PDT”.
    """
    shown = user_time(time, zone)
    differs = shown.utcoffset() != time.utcoffset()
    return f"{_day(shown, now)} {shown:%H:%M}{f' {_zone_name(shown)}' if differs else ''}"


def format_item_time(item: Item, zone: tzinfo | None, now: datetime | None = None) -> str:
    """The time of an item as `format_time` writes it; a day without an hour as a day; "" without a time."""
    time = item.time
    if time is None:
        return ""
    role = next(role for role in ("start", "due", "made") if role in item.times)
    value = item.fields.get(item.schema.times[role])
    if is_day(value):
        return _day(time, now)
    return format_time(time, zone, now)


def _day(time: datetime, now: datetime | None) -> str:
    year = "" if time.year == (now or datetime.now()).year else f" {time.year}"
    return f"{time:%a} {time.day} {time:%b}{year}"


def _zone_name(time: datetime) -> str:
    """The abbreviation of the zone, such as PDT; UTC-03 for zones that have none."""
    name = time.tzname() or ""
    return f"UTC{name}" if name.startswith(("+", "-")) else name


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
