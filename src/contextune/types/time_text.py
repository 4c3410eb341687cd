"""Times on the user's clock, in the words that every interface shows."""

from contextlib import suppress
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
