"""Times that a request names, as the features of family `times` read them.

Relative days, weekdays, parts of the day, weeks, weekends, and hours of the clock. The columns of a trained
ranker depend on exactly these; the other phrases that `contextune.time_phrases` understands are for columns
of their own.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial

from contextune.time_phrases import Interval, parse_time_phrases
from contextune.time_phrases.calendar_math import day_interval, weekend_interval
from contextune.time_phrases.days import find_day_parts, find_relative_days, find_weekdays
from contextune.time_phrases.number_words import HOUR_WORDS
from contextune.time_phrases.parser import AtomRule, find_atoms, parse_input
from contextune.time_phrases.periods import find_calendar_periods
from contextune.time_phrases.phrase import ParseInput, TimeAtom

Mention = tuple[Interval, int, int]
"""An interval, and the start and end of its mention in the text."""
_PARTS_KEPT = frozenset(
    ["tomorrow morning", "tomorrow evening", "tomorrow night", "yesterday evening"],
)
"""Parts of another day that are read; of others, such as "tomorrow afternoon", the day is."""
_MIN_CONFIDENCE = 0.5
_HOUR = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?: ?(?P<half>am|pm|o'clock))?"
_CLOCK = re.compile(
    rf"\b(?:at|around|by|before|till|until|about) (?:{_HOUR}|(?P<word>{'|'.join(HOUR_WORDS)}))\b"
)


def find_time_mentions(text: str, now: datetime) -> list[Mention]:
    """Intervals that the text names."""
    source = parse_input(text, now)
    mentions: list[Mention] = []
    for rule, read in _RULES:
        for atom in find_atoms(source, [rule]):
            with suppress(OverflowError, ValueError):  # near the year 1 or 9999
                mentions += read(source, atom)
    return mentions


def find_probable_intervals(text: str, now: datetime) -> list[Interval]:
    """Intervals that a text probably names, by all phrases; of an ambiguous one the two best readings."""
    return [
        interval
        for phrase in parse_time_phrases(text, now, min_confidence=_MIN_CONFIDENCE)
        if phrase.kind != "duration"  # "for 20 minutes" is no time of an item
        for interval in phrase.readings[:2]
    ]


def find_intervals(text: str, now: datetime) -> list[Interval]:
    """Intervals that the text names."""
    return [interval for interval, _, _ in find_time_mentions(text, now)]


def find_clock_hours(text: str) -> list[float]:
    """Hours of the clock that the text names after a preposition; an hour without am or pm gives both."""
    hours: list[float] = []
    for match in _CLOCK.finditer(text.casefold()):
        hour = HOUR_WORDS[match["word"]] if match["word"] else int(match["hour"])
        if hour < 24:
            hours += _possible_hours(hour + int(match["minute"] or 0) / 60, match["half"] or "")
    return hours


def _possible_hours(hour: float, half: str) -> list[float]:
    if half == "pm" and hour < 12:
        return [hour + 12]
    return [hour] if half == "am" or hour > 12 else [hour, (hour + 12) % 24]


def _relative_day(source: ParseInput, atom: TimeAtom) -> Iterator[Mention]:
    if not atom.modifier or source.low[atom.first : atom.last] in _PARTS_KEPT:
        yield atom.readings[0], atom.first, atom.last
        return
    day = atom.readings[0][0].replace(hour=0)
    yield day_interval(day), atom.first, atom.last - len(atom.modifier) - 1


def _day_part(_: ParseInput, atom: TimeAtom) -> Iterator[Mention]:
    if atom.form == "part of day":
        yield atom.readings[0], atom.first, atom.last


def _calendar_period(source: ParseInput, atom: TimeAtom) -> Iterator[Mention]:
    if atom.form == "weekend":
        yield weekend_interval(source.midnight, -(atom.modifier == "last")), atom.first, atom.last
    elif source.low[atom.first : atom.last] in ("this week", "next week", "last week"):
        yield atom.readings[0], atom.first, atom.last


def _weekday(source: ParseInput, atom: TimeAtom) -> Iterator[Mention]:
    ahead = (atom.readings[0][0].weekday() - source.now.weekday()) % 7
    if atom.modifier == "last":
        ahead -= 7
    yield day_interval(source.midnight, ahead), atom.first, atom.last
    if atom.modifier not in ("last", "on", "next", "this") and ahead != 0:
        # a bare weekday may also be the previous one: "the one from Tuesday"
        yield day_interval(source.midnight, ahead - 7), atom.first, atom.last


_RULES: tuple[tuple[AtomRule, Callable[[ParseInput, TimeAtom], Iterator[Mention]]], ...] = (
    (find_relative_days, _relative_day),
    (find_day_parts, _day_part),
    (find_calendar_periods, _calendar_period),
    (partial(find_weekdays, plurals=True), _weekday),
)
"""Rules that recognise phrases, and the mentions that each phrase gives."""
