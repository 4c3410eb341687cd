"""Calendar arithmetic on wall-clock times: days, weeks (from Monday), months, years, seasons."""

from datetime import datetime, timedelta

from contextune.time_phrases.phrase import Interval

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each season, in the northern hemisphere."""


def day_interval(midnight: datetime, offset: int = 0) -> Interval:
    """A whole day, `offset` days from the one that starts at `midnight`."""
    return midnight + offset * DAY, midnight + (offset + 1) * DAY


def week_interval(midnight: datetime, offset: int = 0) -> Interval:
    """From Monday to Monday, `offset` weeks from the week of `midnight`."""
    monday = midnight + (7 * offset - midnight.weekday()) * DAY
    return monday, monday + 7 * DAY


def weekend_interval(midnight: datetime, offset: int = 0) -> Interval:
    """Saturday and Sunday of a week."""
    monday, end = week_interval(midnight, offset)
    return monday + 5 * DAY, end


def add_months(moment: datetime, months: int) -> datetime:
    """The same day of a later or earlier month, or that month's last day."""
    index = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(index, 12)
    for day in range(moment.day, moment.day - 4, -1):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            if day <= 28:
                raise OverflowError(f"year out of range: {year}") from None
    raise AssertionError("every month has 28 days")  # pragma: no cover


def month_interval(midnight: datetime, year: int, month: int, count: int = 1) -> Interval:
    """`count` whole months."""
    start = midnight.replace(year=year, month=month, day=1)
    return start, add_months(start, count)


def year_interval(midnight: datetime, year: int) -> Interval:
    """A whole year."""
    return month_interval(midnight, year, 1, 12)


def nearest_first(intervals: list[Interval], now: datetime, tense: int) -> tuple[Interval, ...]:
    """Order readings: those the tense asks for first, then the nearest."""

    def distance(interval: Interval) -> tuple[bool, float]:
        start, end = interval
        wrong = (tense < 0 and start > now) or (tense > 0 and end <= now)
        gap = max(start - now, now - end, timedelta())
        return wrong, gap.total_seconds()

    return tuple(sorted(intervals, key=distance))
