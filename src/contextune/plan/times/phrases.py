"""Find time expressions in English text: days, clock times, and shifts such as "an hour before"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TypeVar

from contextune.context.signals.time_phrases import find_time_mentions
from contextune.plan.values import NUMBER_WORDS, find_durations

_DAY = timedelta(days=1)
_EARLY_HOURS = 5 * 60
_NOON, _HOUR, _HALF_DAY = 12 * 60, 60, 12 * 60
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DATE = re.compile(rf"\b(?:{_NTH}(?: of)? {_MONTH}|{_MONTH} {_NTH})(?![\w:])")
_THE_NTH = re.compile(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b")
_SHORT_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})\b")
_WORD = "|".join(word for word in NUMBER_WORDS if len(word) > 2 and NUMBER_WORDS[word] <= 12)
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
"""Expressions that name an hour, not a day."""
_SAME = re.compile(r"\b(?:same|as (?:usual|always|ever|before)|again|usual)\b")


@dataclass(frozen=True)
class TimeMention:
    """One time expression in a text, with its position."""

    start: int
    end: int
    words: str


@dataclass(frozen=True)
class DayMention(TimeMention):
    """An expression for a day, with the dates it may mean, best first."""

    dates: tuple[date, ...]


@dataclass(frozen=True)
class ClockMention(TimeMention):
    """A clock time, with the minutes after midnight it may mean, best first: "at nine" has two."""

    minutes: tuple[int, ...]
    certain: bool
    """Whether morning or evening is clear."""


@dataclass(frozen=True)
class TimeShift(TimeMention):
    """A duration before (`sign` -1) or after (1) something; 0 if the text does not say which."""

    length: timedelta
    sign: int


@dataclass(frozen=True)
class TimeExpressions:
    """All time expressions in a text."""

    days: tuple[DayMention, ...] = ()
    clocks: tuple[ClockMention, ...] = ()
    shifts: tuple[TimeShift, ...] = ()
    repeats: bool = False
    """Whether a time is to stay the same: "same hour", "as usual"."""
    day_offsets: tuple[int, ...] = ()
    """Days relative to something else: "the day before" is -1, "a week later" 7."""
    refers_to_end: bool = False
    """Whether the end of something is meant: "once it is over", "right after"."""
    day_half: int = 0
    """-1 for the morning, 1 for later in the day, 0 if neither or both are mentioned."""


MentionT = TypeVar("MentionT", bound=TimeMention)


@lru_cache(maxsize=512)
def find_times(text: str, now: datetime) -> TimeExpressions:
    """Find the time expressions in a text that was written at `now`."""
    low = text.casefold().replace("’", "'")
    if len(low) != len(text):  # positions in the folded text must be valid in the original
        low = text.lower() if len(text.lower()) == len(text) else text
    offsets = [days for pattern, days in ((_EVE, -1), (_MORROW, 1), (_WEEK, 7)) if pattern.search(low)]
    return TimeExpressions(
        tuple(_drop_overlaps(list(_days(low, text, now)))),
        tuple(_drop_overlaps(list(_clocks(low, text, now)))),
        tuple(_shifts(low, text)),
        repeats=bool(_SAME.search(low)),
        day_offsets=tuple(offsets),
        refers_to_end=bool(_ENDS.search(low)),
        day_half=_day_half(low),
    )


def _drop_overlaps(mentions: Sequence[MentionT]) -> list[MentionT]:
    """Keep the longest, then the first, of overlapping mentions."""
    kept: list[MentionT] = []
    for mention in sorted(mentions, key=lambda mention: (mention.start - mention.end, mention.start)):
        if all(mention.end <= other.start or mention.start >= other.end for other in kept):
            kept.append(mention)
    return sorted(kept, key=lambda mention: mention.start)


def _day_half(low: str) -> int:
    return bool(_EVENING.search(low)) - bool(_MORNING.search(low))


def _days(low: str, text: str, now: datetime) -> Iterator[DayMention]:
    spans: dict[tuple[int, int], list[date]] = {}
    for (start, end), first, last in find_time_mentions(low, now):
        if _HOURLY.search(low[first:last]):
            continue
        days = [start.date()]
        if end - start > 2 * _DAY:  # a weekend is two days; a week is not a day
            days = [start.date() + n * _DAY for n in range(2)] if end - start < 4 * _DAY else []
        if start.date() == now.date() and low[first:last].endswith("day") and "today" not in low[first:last]:
            days.append(start.date() + 7 * _DAY)  # "Monday", said on a Monday, may mean next week
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
            continue  # in "Wednesday 21 August" the date is enough
        ordered = sorted(set(days), key=lambda day: (day < today, abs((day - today).days)))
        if ordered:
            yield DayMention(start, end, text[start:end], tuple(ordered))


def _near(number: int, month: int, today: date) -> list[date]:
    """The nearest date with this day and month, of last year, this year or the next."""
    days = [day for year in (-1, 0, 1) if (day := _date(today.year + year, month, number))]
    return sorted(days, key=lambda day: abs((day - today).days))[:1]


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _clocks(low: str, text: str, now: datetime) -> Iterator[ClockMention]:
    day_half = _day_half(low)
    for pattern in _CLOCKS:
        for match in pattern.finditer(low):
            minutes, half = _minutes(match)
            if minutes is None:
                continue
            options, certain = _options(minutes, half or _nearby_half(low, match, day_half), match.group())
            start = match.start("h") if "h" in match.groupdict() else match.start()
            yield ClockMention(start, match.end(), text[start : match.end()], options, certain)
    if match := _HALF_PAST.search(low):
        past = now.replace(minute=30)
        past += timedelta(hours=past <= now)
        yield ClockMention(*match.span(), match.group(), (past.hour * 60 + 30,), certain=True)


def _minutes(match: re.Match[str]) -> tuple[int | None, str]:
    """Minutes after midnight, and "a" or "p" if am or pm is given."""
    named, groups = match.groupdict(), match.groups()
    half = next((part for part in groups if part and re.fullmatch(r"[ap]\.?m\.?", part)), "")[:1]
    part = named.get("part") or ""
    if part in ("noon", "midday", "midnight"):
        return (0 if part == "midnight" else _NOON), "p" if part != "midnight" else "a"
    hour = named.get("h") or next(w for w in reversed(groups) if w and (w.isdigit() or w in NUMBER_WORDS))
    value = _number(hour)
    if value > 24 or (value > 23 and not named.get("m")):
        return None, ""
    minute = named.get("m")
    extra = _number(minute) if minute else 0
    if "half" in part:
        extra = 30
    elif "quarter" in part:
        extra = 15
    total = value * _HOUR + (-extra if part.endswith("to") else extra)
    return total % (24 * _HOUR), half


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return 45 if word.startswith("forty") else NUMBER_WORDS[word]


def _nearby_half(low: str, match: re.Match[str], day_half: int) -> str:
    """Morning ("a"), later ("p") or night ("n"), by the words next to the clock time, else by all words."""
    for near in (low[match.end() : match.end() + 24], low[max(0, match.start() - 18) : match.start()]):
        if here := bool(late := _EVENING.search(near)) - bool(_MORNING.search(near)):
            return "a" if here < 0 else "n" if late and "night" in late.group() else "p"
    return {-1: "a", 1: "n", 0: ""}[day_half]


def _options(minutes: int, half: str, words: str) -> tuple[tuple[int, ...], bool]:
    """The times of day that a clock time may mean, best first, and whether there is no doubt."""
    if minutes >= 13 * _HOUR or minutes < _HOUR or re.match(r"0\d|noon|midday", words):
        return (minutes,), True
    early, late = minutes % _HALF_DAY, minutes % _HALF_DAY + _HALF_DAY
    if half == "a":
        return (early,), True
    if half in ("p", "n"):
        ambiguous = half == "n" and early < _EARLY_HOURS  # "at night" includes the early hours
        return ((late, early), False) if ambiguous else ((late,), True)
    written = re.match(r"\d{1,2}[:.h]\d\d", words)
    return ((minutes, (minutes + _HALF_DAY) % (24 * _HOUR)) if written else (late, early)), False


def _shifts(low: str, text: str) -> Iterator[TimeShift]:
    for length, start, end in find_durations(low):
        sign = 0
        if _LESS.match(low, end):
            sign = -1
        elif _MORE.match(low, end) or _IN.search(low, 0, start) or "extra" in low[start:end]:
            sign = 1
        yield TimeShift(start, end, text[start:end], length, sign)
