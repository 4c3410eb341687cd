"""Calendar arithmetic on wall-clock times, and tense: it decides between the last and the next Friday."""

import re
from datetime import datetime, timedelta

from contextune.time_phrases.phrase import Interval

_PAST = re.compile(
    r"\b(?:did|didn't|was|wasn't|were|sent|came|went|wrote|told|rang|called|heard|played|listened|gave|met|took|received"
    r"|asked|happened|mailed|emailed|texted|visited|missed|arrived|bought|scribbled|behind us|is over)\b"
)
_FUTURE = re.compile(
    r"\b(?:will|won't|remind|schedule|book|plan|wake|alarm|set|going to|upcoming|tomorrow|cancel|move|push"
    r"|postpone|invite|reserve|nudge|shall|add|create|must|can|may|should)\b|'ll\b"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
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


def tense_at(low: str, position: int) -> int:
    """-1 for the past, 1 for the future, 0 if neither or both are expressed in the sentence at a position."""
    start = 0
    for match in _SENTENCE_END.finditer(low):
        if match.start() >= position:
            low = low[: match.start()]
            break
        start = match.end()
    return bool(_FUTURE.search(low, start)) - bool(_PAST.search(low, start))


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
