"""Times as people say and write them: days, hours of the clock, and stretches before or after something."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TypeVar

from contextune.context.signals.time_phrases import mentions
from contextune.plan.values import NUMBERS, durations

_DAY = timedelta(days=1)
_SMALL = 5 * 60
_NOON, _HOUR, _HALF_DAY = 12 * 60, 60, 12 * 60
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DATE = re.compile(rf"\b(?:{_NTH}(?: of)? {_MONTH}|{_MONTH} {_NTH})(?![\w:])")
_THE_NTH = re.compile(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b")
_SHORT_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})\b")
_WORD = "|".join(word for word in NUMBERS if len(word) > 2 and NUMBERS[word] <= 12)
_HOURS = rf"(\d{{1,2}}|{_WORD})"
_HALF = r"(?: ?(am|pm|a\.m\.|p\.m\.)(?!\w))?"
_CLOCKS = (
    re.compile(rf"\b(?P<h>\d{{1,2}})[:.h](?P<m>[0-5]\d)\b(?!\.\d){_HALF}"),
    re.compile(r"\b(?P<h>\d{1,2}) ?(am|pm|a\.m\.|p\.m\.)(?!\w)"),
    re.compile(rf"\b(?P<part>half past|half|quarter past|quarter to) {_HOURS}\b(?! (?:hour|of))"),
    re.compile(rf"\b(?P<m>five|ten|twenty) (?P<part>past|to) {_HOURS}\b"),
    re.compile(rf"\b(?P<h>{_WORD}|\d{{1,2}}) (?P<m>fifteen|thirty|forty[- ]five)\b"),
    re.compile(r"\b(?P<part>noon|midday|midnight)\b"),
    re.compile(rf"\b(?P<h>{_WORD}|\d{{1,2}}) ?(?:o['’ ]?clock|sharp)\b"),
    re.compile(
        rf"\b(?:at|around|by|before|till|until|about|for|to|from|after) (?P<h>{_WORD}|\d{{1,2}})\b"
        r"(?![-:.]?\w)(?! (?:o['’ ]?clock|past|to \w+$|of|hours?|minutes?|mins?|days?|weeks?|months?|years?"
        rf"|people|times|and)){_HALF}"
    ),
    re.compile(
        rf"\b(?P<h>{_WORD}|\d{{1,2}})(?= (?:tonight|tomorrow|at night|instead"
        r"|in the (?:morning|afternoon|evening)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day))"
    ),
    re.compile(
        rf"(?:day|tomorrow|tonight|morning|evening|afternoon|weekend),? (?:at )?(?P<h>{_WORD}|\d{{1,2}})"
        r"(?=\s*(?:$|[.,;!?:]|instead|in the|sharp))"
    ),
    re.compile(rf"(?:^|[,.;] )(?P<h>{_WORD}|\d{{1,2}})(?=\s*(?:$|[.,;!?]))"),
)
_HALF_PAST = re.compile(
    r"\bhalf past(?! (?:\d|\w+teen|one|two|three|four|five|six|seven|eight|nine|ten|eleven))"
)
_MORNING = re.compile(r"\b(?:morning|breakfast|dawn|a\.m\.)\b")
_EVENING = re.compile(r"\b(?:evening|tonight|night|supper|dinner|afternoon|p\.m\.)\b")
_LESS = re.compile(r"\s*(?:ahead|before|earlier|prior|sooner|early|beforehand)\b")
_MORE = re.compile(r"\s*(?:later|after|extra|more|longer|back|on|past|late|from (?:now|today))\b")
_IN = re.compile(r"\b(?:in|within|after|for|by|back|extra|another|wait)\s*$")
_EVE = re.compile(r"\b(?:(?:day|night|evening|morning) (?:before|ahead)|eve of)\b")
_MORROW = re.compile(r"\b(?:(?:day|night|evening|morning) after(?! tomorrow)|wait a day|a day later)\b")
_WEEK = re.compile(r"\b(?:next week|(?:a|one) week (?:later|on|after)|week after|the \w+day after)\b")
_ENDS = re.compile(
    r"\b(?:over|finish\w*|ends?|ended|done|once|afterwards|right after|straight after|as soon as|the minute"
    r"|get out|gets out|off)\b"
)
_HOURLY = re.compile(r"noon|midday|lunch|breakfast|dinner|supper|work|bedtime|overnight")
"""They name an hour of whatever day is spoken of."""
_SAME = re.compile(r"\b(?:same|as (?:usual|always|ever|before)|again|usual)\b")


@dataclass(frozen=True)
class TimeMention:
    """One thing said of time: what it may stand for, best first, and where it stands."""

    start: int
    end: int
    words: str


@dataclass(frozen=True)
class DayMention(TimeMention):
    """Days it may be."""

    dates: tuple[date, ...]


@dataclass(frozen=True)
class ClockMention(TimeMention):
    """Minutes after midnight it may be: "at nine" is one of two."""

    minutes: tuple[int, ...]
    sure: bool


@dataclass(frozen=True)
class TimeShift(TimeMention):
    """So much earlier or later than something; `sign` 0 where that is not said."""

    length: timedelta
    sign: int


@dataclass(frozen=True)
class TimeExpressions:
    """All that a text says of time."""

    days: tuple[DayMention, ...] = ()
    clocks: tuple[ClockMention, ...] = ()
    shifts: tuple[TimeShift, ...] = ()
    same: bool = False
    """Whether something is to be as it was."""
    steps: tuple[int, ...] = ()
    """Days from the day of something else: the day before, a week later."""
    ends: bool = False
    """Whether it speaks of the end of something: once it is over, right after."""
    half: int = 0
    """-1 in the morning, 1 later in the day, 0 where nothing is said or both."""


Said = TypeVar("Said", bound=TimeMention)


@lru_cache(maxsize=512)
def find_times(text: str, now: datetime) -> TimeExpressions:
    """What the text says of time, `now` being when it was said or written."""
    low = text.casefold().replace("’", "'")
    if len(low) != len(text):  # folding that changes the length would put words in the wrong place
        low = text.lower() if len(text.lower()) == len(text) else text
    half = bool(_EVENING.search(low)) - bool(_MORNING.search(low))
    steps = [step for pattern, step in ((_EVE, -1), (_MORROW, 1), (_WEEK, 7)) if pattern.search(low)]
    return TimeExpressions(
        tuple(_first(list(_days(low, text, now)))),
        tuple(_first(list(_clocks(low, text, now)))),
        tuple(_shifts(low, text)),
        same=bool(_SAME.search(low)),
        steps=tuple(steps),
        ends=bool(_ENDS.search(low)),
        half=half,
    )


def _first(found: Sequence[Said]) -> Iterator[Said]:
    """Of what overlaps, the longest and first."""
    kept: list[Said] = []
    for one in sorted(found, key=lambda heard: (heard.start - heard.end, heard.start)):
        if all(one.end <= other.start or one.start >= other.end for other in kept):
            kept.append(one)
    return iter(sorted(kept, key=lambda heard: heard.start))


def _days(low: str, text: str, now: datetime) -> Iterator[DayMention]:
    spans: dict[tuple[int, int], list[date]] = {}
    for (start, end), first, last in mentions(low, now):
        if _HOURLY.search(low[first:last]):
            continue
        days = [start.date()]
        if end - start > 2 * _DAY:  # a week or a weekend: what day of it is not said
            days = [start.date() + n * _DAY for n in range(2)] if end - start < 4 * _DAY else []
        if start.date() == now.date() and low[first:last].endswith("day") and "today" not in low[first:last]:
            days.append(start.date() + 7 * _DAY)  # a weekday that is today's may be the one a week on
        spans.setdefault((first, last), []).extend(days)
    today = now.date()
    for match in _SHORT_WEEKDAY.finditer(low):
        # "sat" and "sun" are also words, but not with a capital in the middle of a sentence
        if text[match.start()].isupper() or match[1] not in ("sat", "sun", "mon", "wed"):
            ahead = (_WEEKDAYS.index(match[1]) - now.weekday()) % 7
            spans.setdefault(match.span(), []).append(today + ahead * _DAY)
    for match in _DATE.finditer(low):
        number, month = int(match[1] or match[4]), _MONTHS.index((match[2] or match[3])[:3]) + 1
        spans.setdefault(match.span(), []).extend(_near(number, month, today))
    for match in _THE_NTH.finditer(low):
        months = {today.month, today.month % 12 + 1}
        nearest = [day for month in months for day in _near(int(match[1]), month, today)]
        spans.setdefault(match.span(), []).extend(sorted(nearest, key=lambda day: (day < today, day)))
    for match in _ISO.finditer(low):
        if day := _date(int(match[1]), int(match[2]), int(match[3])):
            spans.setdefault(match.span(), []).append(day)
    dated = [start for start, end in spans if low[start:end][:1].isdigit() or low[start:end][-1:].isdigit()]
    for (start, end), days in spans.items():
        if any(0 < other - end <= 2 for other in dated):
            continue  # of "Wednesday 21 August" the date says all
        ordered = sorted(set(days), key=lambda day: (day < today, abs((day - today).days)))
        if ordered:
            yield DayMention(start, end, text[start:end], tuple(ordered))


def _near(number: int, month: int, today: date) -> list[date]:
    """The date of this day and month that is nearest, of last year, this and the next."""
    found = [day for year in (-1, 0, 1) if (day := _date(today.year + year, month, number))]
    return sorted(found, key=lambda day: abs((day - today).days))[:1]


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _clocks(low: str, text: str, now: datetime) -> Iterator[ClockMention]:
    half = bool(_EVENING.search(low)) - bool(_MORNING.search(low))
    for pattern in _CLOCKS:
        for match in pattern.finditer(low):
            minutes, said = _minutes(match)
            if minutes is None:
                continue
            options, sure = _halves(minutes, said or _half_near(low, match, half), match.group())
            start = match.start("h") if "h" in match.groupdict() else match.start()
            yield ClockMention(start, match.end(), text[start : match.end()], options, sure)
    if match := _HALF_PAST.search(low):
        past = now.replace(minute=30)
        past += timedelta(hours=past <= now)
        yield ClockMention(*match.span(), match.group(), (past.hour * 60 + 30,), sure=True)


def _minutes(match: re.Match[str]) -> tuple[int | None, str]:
    """Minutes after midnight, and am or pm if it says so."""
    groups, found = match.groupdict(), match.groups()
    said = next((part for part in found if part and re.fullmatch(r"[ap]\.?m\.?", part)), "")[:1]
    part = groups.get("part") or ""
    if part in ("noon", "midday", "midnight"):
        return (0 if part == "midnight" else _NOON), "p" if part != "midnight" else "a"
    hour = groups.get("h") or next(w for w in reversed(found) if w and (w.isdigit() or w in NUMBERS))
    value = _number(hour)
    if value > 24 or (value > 23 and not groups.get("m")):
        return None, ""
    minute = groups.get("m")
    extra = _number(minute) if minute else 0
    if "half" in part:
        extra = 30
    elif "quarter" in part:
        extra = 15
    total = value * _HOUR + (-extra if part.endswith("to") else extra)
    return total % (24 * _HOUR), said


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return 45 if word.startswith("forty") else NUMBERS[word]


def _half_near(low: str, match: re.Match[str], half: int) -> str:
    """Morning or evening, by the words next to the clock, else by all there are."""
    for near in (low[match.end() : match.end() + 24], low[max(0, match.start() - 18) : match.start()]):
        if here := bool(late := _EVENING.search(near)) - bool(_MORNING.search(near)):
            return "a" if here < 0 else "n" if late and "night" in late.group() else "p"
    return {-1: "a", 1: "n", 0: ""}[half]


def _halves(minutes: int, said: str, words: str) -> tuple[tuple[int, ...], bool]:
    if minutes >= 13 * _HOUR or minutes < _HOUR or re.match(r"0\d|noon|midday", words):
        return (minutes,), True
    early, late = minutes % _HALF_DAY, minutes % _HALF_DAY + _HALF_DAY
    if said == "a":
        return (early,), True
    if said in ("p", "n"):
        small = said == "n" and early < _SMALL  # "at night" is also the small hours
        return ((late, early), False) if small else ((late,), True)
    written = re.match(r"\d{1,2}[:.h]\d\d", words)
    return ((minutes, (minutes + _HALF_DAY) % (24 * _HOUR)) if written else (late, early)), False


def _shifts(low: str, text: str) -> Iterator[TimeShift]:
    for length, start, end in durations(low):
        sign = 0
        if _LESS.match(low, end):
            sign = -1
        elif _MORE.match(low, end) or _IN.search(low, 0, start) or "extra" in low[start:end]:
            sign = 1
        yield TimeShift(start, end, text[start:end], length, sign)
