"""Time expressions as planning needs them: days, clock times, and shifts such as "an hour before".

Days, clock times and durations come from the shared parser, `contextune.time_phrases`. What relates to an
event ("the day before", "once it is over", "same hour") is recognised here.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache, partial
from itertools import islice
from typing import TypeVar

from contextune.time_phrases.clocks import day_half, find_clocks
from contextune.time_phrases.dates import find_dates
from contextune.time_phrases.days import find_days, find_weekdays
from contextune.time_phrases.durations import find_duration_words
from contextune.time_phrases.groups import drop_overlaps, merge_days
from contextune.time_phrases.holidays import find_holidays
from contextune.time_phrases.nth_weekdays import find_nth_weekdays, find_weeks_from
from contextune.time_phrases.number_words import parse_number
from contextune.time_phrases.parser import MAX_ATOMS, find_atoms, parse_input
from contextune.time_phrases.periods import find_calendar_periods
from contextune.time_phrases.phrase import ParseInput, TimeAtom

_DAY = timedelta(days=1)
_LESS = re.compile(r"\s*(?:ahead|before|earlier|prior|sooner|early|beforehand)\b")
_MORE = re.compile(r"\s*(?:later|after|extra|more|longer|back|on|past|late|from (?:now|today))\b")
_IN = re.compile(r"\b(?:in|within|after|for|by|back|extra|another|wait)\s*$")
_FORWARD = re.compile(
    r"\b(?:bring|pull)\b[^.;!?]{0,300}\bforward\b|\bmove up\b"
    r"|\b(?:move|bring|pull)\b[^.;!?]{0,300}(?<!catch )(?<!pick )(?<!follow )(?<!check )(?<!clean )\bup by\b"
)
"""An order to move something to an earlier time: "Bring the call forward by an hour"."""
_IN_MONTHS = re.compile(r"\bin (?:about )?$")
_EVE = re.compile(r"\b(?:(?:day|night|evening|morning) (?:before|ahead)|eve of|the eve)\b")
_MORROW = re.compile(r"\b(?:(?:day|night|evening|morning) after(?! tomorrow)|wait a day|a day later)\b")
_WEEK = re.compile(r"\b(?:next week|(?:a|one) week (?:later|on|after)|week after|the \w+day after)\b")
_WEEK_BEFORE = re.compile(r"\b(?:(?:a|one|the) week (?:before|ahead|earlier)|the \w+day before)\b")
_HOUR_BEFORE = re.compile(r"\bthe (?:last )?hour (?=(?:before|ahead|prior)\b)")
_MINUTES_BEFORE = re.compile(
    r"\b(?P<count>five|ten|fifteen|twenty|thirty|\d\d?)(?= (?:ahead|before|early|earlier)\b)"
)
_ENDS = re.compile(
    r"\b(?:over|finish\w*|ends?|ended|done|once|afterwards|right after|straight after|as soon as|the minute"
    r"|get out|gets out|off)\b"
)
_HOURLY = re.compile(r"\bbed\b|\bnoon|midday|lunch|breakfast|dinner|supper|work|bedtime|overnight")
"""Expressions that name an hour, not a day."""
_SAME = re.compile(r"\b(?:same|as (?:usual|always|ever|before)|again|usual)\b")
_DAY_RULES = (
    find_days,
    partial(find_weekdays, plurals=True),
    find_dates,
    find_holidays,
    find_nth_weekdays,
    find_calendar_periods,
)
_DAY_FORMS = frozenset(["relative day", "weekday", "date", "day of month", "part of day", "weekend"])
_JOINED_FORMS = frozenset(["week", "bare part"])
"""What is no day by itself, but may tell which one is meant."""


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
    source = parse_input(text, now)
    low = source.low
    for atom in islice(find_weeks_from(source), MAX_ATOMS):  # "a week on Monday" moves no event by a week
        low = f"{low[: atom.first]}{' ' * (atom.last - atom.first)}{low[atom.last :]}"
    patterns = ((_EVE, -1), (_MORROW, 1), (_WEEK, 7), (_WEEK_BEFORE, -7))
    offsets = [days for pattern, days in patterns if pattern.search(low)]
    shifts = tuple(_shifts(source, low))
    # "a day sooner, at five" moves the day and sets another hour
    offsets += [shift.sign * shift.length.days for shift in shifts if shift.length % _DAY == timedelta()]
    return TimeExpressions(
        tuple(sorted(_days(source), key=lambda mention: mention.start)),
        tuple(_drop_overlaps(list(_clocks(source)))),
        shifts,
        repeats=bool(_SAME.search(low)),
        day_offsets=tuple(dict.fromkeys(offset for offset in offsets if offset)),
        refers_to_end=bool(_ENDS.search(low)),
        day_half=day_half(low),
    )


def _drop_overlaps(mentions: Sequence[MentionT]) -> list[MentionT]:
    """Keep the longest, then the first, of overlapping mentions."""
    kept: list[MentionT] = []
    for mention in sorted(mentions, key=lambda mention: (mention.start - mention.end, mention.start)):
        if all(mention.end <= other.start or mention.start >= other.end for other in kept):
            kept.append(mention)
    return sorted(kept, key=lambda mention: mention.start)


def _days(source: ParseInput) -> Iterator[DayMention]:
    atoms = [
        atom
        for atom in find_atoms(source, _DAY_RULES)
        if atom.form in (*_DAY_FORMS, *_JOINED_FORMS)
        and not _HOURLY.search(source.low[atom.first : atom.last])
    ]
    for duration, start, end in islice(find_duration_words(source.low), MAX_ATOMS):
        if duration.months and _IN_MONTHS.search(source.before(start)):
            with suppress(OverflowError):
                day = duration.add_to(source.now).date()
                yield DayMention(start, end, source.text[start:end], (day,))
    for atom in merge_days(drop_overlaps(atoms), source):
        if atom.form not in _JOINED_FORMS:
            yield DayMention(atom.first, atom.last, source.text[atom.first : atom.last], _dates(atom, source))


def _dates(atom: TimeAtom, source: ParseInput) -> tuple[date, ...]:
    """The dates that an expression may mean, best first: the next one before those in the past."""
    today = source.now.date()
    dates = list(dict.fromkeys(start.date() for start, _ in atom.readings))
    if atom.form == "date":
        return tuple(dates[:1])  # the nearest year
    if atom.form == "day of month":
        dates = [day for day in dates if day >= today.replace(day=1)] or dates
    if atom.modifier == "next":
        return tuple(dates)
    if atom.form == "weekday" and len(dates) > 2:
        dates = dates[:2]  # said on the same weekday: today or in a week
    elif atom.modifier == "last" or (atom.modifier == "on" and dates[0] >= today):
        dates = dates[:1]  # a bare weekday may also be the previous one
    return tuple(sorted(dates, key=lambda day: (day < today, abs((day - today).days))))


def _clocks(source: ParseInput) -> Iterator[ClockMention]:
    for atom in islice(find_clocks(source), MAX_ATOMS):
        words = source.text[atom.first : atom.last]
        yield ClockMention(atom.first, atom.last, words, atom.minutes, atom.certain)


def _shifts(source: ParseInput, low: str) -> Iterator[TimeShift]:
    is_forward = _FORWARD.search(low) is not None
    for duration, start, end in islice(find_duration_words(low), MAX_ATOMS):
        if duration.months:
            continue
        sign = 0
        if _LESS.match(low, end) or is_forward:
            sign = -1
        elif _MORE.match(low, end) or _IN.search(low, 0, start) or "extra" in low[start:end]:
            sign = 1
        yield TimeShift(start, end, source.text[start:end], duration.delta, sign)
    for match in islice(_HOUR_BEFORE.finditer(low), MAX_ATOMS):
        yield TimeShift(*match.span(), source.text[slice(*match.span())].strip(), timedelta(hours=1), -1)
    for match in islice(_MINUTES_BEFORE.finditer(low), MAX_ATOMS):
        length = timedelta(minutes=parse_number(match["count"]))
        yield TimeShift(*match.span(), source.text[slice(*match.span())], length, -1)
