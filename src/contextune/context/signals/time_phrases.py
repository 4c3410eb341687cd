"""Time expressions such as “tonight” or “last week” → intervals, relative to the time of the request."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

Interval = tuple[datetime, datetime]

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
        start=1,
    )
}
_DAY, _HOUR = timedelta(days=1), timedelta(hours=1)


def _whole_day(offset: int) -> Callable[[datetime], Interval]:
    return lambda day: (day + offset * _DAY, day + (offset + 1) * _DAY)


def _part(offset: int, start: int, end: int) -> Callable[[datetime], Interval]:
    return lambda day: (day + offset * _DAY + start * _HOUR, day + offset * _DAY + end * _HOUR)


_PHRASES: tuple[tuple[str, Callable[[datetime], Interval]], ...] = (
    (r"last night|yesterday evening|overnight", _part(-1, 18, 29)),
    (r"day before yesterday", _whole_day(-2)),
    (r"(?<!before )yesterday(?! evening)", _whole_day(-1)),
    (r"day after tomorrow", _whole_day(2)),
    (r"tomorrow morning", _part(1, 4, 12)),
    (r"tomorrow (evening|night)", _part(1, 17, 29)),
    (r"(?<!after )tomorrow(?! (?:morning|evening|night))", _whole_day(1)),
    (r"tonight|this evening|bedtime|after (work|dinner|supper)", _part(0, 17, 29)),
    (r"this morning|(at|over|before) breakfast", _part(0, 4, 12)),
    (r"this afternoon|after lunch", _part(0, 12, 18)),
    (r"(at|over|before) lunch|(at |by |before )noon|midday", _part(0, 10, 14)),
    (r"today", _whole_day(0)),
    (r"next week", lambda day: (day + (7 - day.weekday()) * _DAY, day + (14 - day.weekday()) * _DAY)),
    (r"last week", lambda day: (day - (day.weekday() + 7) * _DAY, day - day.weekday() * _DAY)),
    (r"this week", lambda day: (day - day.weekday() * _DAY, day + (7 - day.weekday()) * _DAY)),
    (r"last weekend", lambda day: (day - (day.weekday() + 2) * _DAY, day - day.weekday() * _DAY)),
    (r"(?<!last )weekend", lambda day: (day + (5 - day.weekday()) * _DAY, day + (7 - day.weekday()) * _DAY)),
)
_COMPILED = tuple((re.compile(rf"\b(?:{phrase})\b"), resolve) for phrase, resolve in _PHRASES)
_WEEKDAY = re.compile(rf"\b(last |on |next |this )?({'|'.join(_DAYS)})s?\b")
_CLOCK = re.compile(
    r"\b(?:at|around|by|before|till|until|about) (\d{1,2})(?::(\d\d))?(?: ?(am|pm|o'clock))?\b"
)
_CLOCK_WORD = re.compile(rf"\b(?:at|around|by|before|till|until|about) ({'|'.join(_NUMBERS)})\b")


def find_time_mentions(text: str, now: datetime) -> list[tuple[Interval, int, int]]:
    """Intervals that the text names, each with the start and end of its mention in the text."""
    folded = text.casefold()
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    phrases = [
        (resolve(day), match.start(), match.end())
        for phrase, resolve in _COMPILED
        if (match := phrase.search(folded))
    ]
    return [*phrases, *_find_weekdays(folded, day)]


def find_intervals(text: str, now: datetime) -> list[Interval]:
    """Intervals that the text names."""
    return [interval for interval, _, _ in find_time_mentions(text, now)]


def find_clock_hours(text: str) -> list[float]:
    """Hours of the clock that the text names; an hour without am or pm gives both."""
    folded = text.casefold()
    hours: list[float] = []
    for hour, minute, half in _CLOCK.findall(folded):
        if int(hour) < 24:
            hours += _possible_hours(int(hour) + int(minute or 0) / 60, half)
    for word in _CLOCK_WORD.findall(folded):
        hours += _possible_hours(_NUMBERS[word], "")
    return hours


def _possible_hours(hour: float, half: str) -> list[float]:
    if half == "pm" and hour < 12:
        return [hour + 12]
    return [hour] if half == "am" or hour > 12 else [hour, (hour + 12) % 24]


def _find_weekdays(folded: str, day: datetime) -> Iterator[tuple[Interval, int, int]]:
    for match in _WEEKDAY.finditer(folded):
        word, name = match[1] or "", match[2]
        ahead = (_DAYS.index(name) - day.weekday()) % 7
        if word == "last ":
            ahead = ahead - 7
        yield (day + ahead * _DAY, day + (ahead + 1) * _DAY), match.start(), match.end()
        if (
            not word.strip() and ahead != 0
        ):  # a bare weekday may also be the previous one: "the one from Tuesday"
            yield (day + (ahead - 7) * _DAY, day + (ahead - 6) * _DAY), match.start(), match.end()
