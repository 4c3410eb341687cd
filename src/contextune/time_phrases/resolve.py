"""Resolve a group of atoms to intervals: which day, and which of two clock times, is meant."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from contextune.time_phrases.calendar_math import DAY, HOUR, MINUTE, nearest_first, tense_at
from contextune.time_phrases.days import part_of
from contextune.time_phrases.groups import AtomGroup
from contextune.time_phrases.phrase import Direction, Granularity, Interval, ParseInput, TimeAtom

_WAKING = (7 * 60, 23 * 60)
"""Minutes after midnight between which an hour without am or pm is expected."""
_WAKE = re.compile(r"\b(?:wake|alarm|get up|got up|woke)\b")
"""An hour without am or pm is one of the morning."""
_MAX_READINGS = 4


def resolve_group(group: AtomGroup, source: ParseInput) -> list[tuple[Interval, datetime]]:
    """The readings of a group, best first, each with the moment it points at."""
    if group.clock:
        times = _clock_times(group, group.clock, source)
        return [(_clock_interval(group.clock, time), time) for time in times[:_MAX_READINGS]]
    if group.day and group.part and group.day.granularity != "part of day":
        return [(part, part[0]) for day in group.day.readings for part in [part_of(day, group.part.modifier)]]
    if group.part and not group.day:
        readings = _bare_part(group.part, source)
        return [(reading, reading[0]) for reading in readings]
    atom = group.day or group.other
    if atom is None:
        return []
    return [(reading, atom.anchor or reading[0]) for reading in atom.readings[:_MAX_READINGS]]


def group_granularity(group: AtomGroup) -> Granularity:
    """The finest granularity of its atoms."""
    atom = group.clock or group.part or group.day or group.other
    return atom.granularity if atom else "day"


def group_direction(group: AtomGroup, start: datetime, source: ParseInput) -> Direction:
    """Past or future if the words say so, or if the day leaves no doubt."""
    atom = group.day or group.other
    if atom is None:
        return "either" if group.clock and tense_at(source.low, group.first) <= 0 else "future"
    if atom.direction == "either" and atom.form in ("relative day", "part of day") and group.clock:
        return "future" if start > source.now else "past"
    return atom.direction


def _clock_interval(clock: TimeAtom, time: datetime) -> Interval:
    if clock.approximate:
        margin = 10 * MINUTE if clock.granularity == "minute" else HOUR / 2
        return time - margin, time + margin
    return time, time + (MINUTE if clock.granularity == "minute" else HOUR)


def _clock_times(group: AtomGroup, clock: TimeAtom, source: ParseInput) -> list[datetime]:
    options = list(clock.minutes)
    day, part = group.day, group.part
    if part and len(options) > 1:
        options = _within_part(options, part.modifier)
    elif len(options) > 1 and _WAKE.search(source.low):
        options.sort(key=lambda minutes: not 4 * 60 <= minutes < 12 * 60)
        if day is None:
            options = options[:1]
    if day is None:
        return _without_day(clock, options, source)
    if day.form == "part of day" or day.granularity == "part of day":
        start, end = day.readings[0]
        midnight = start.replace(hour=0, minute=0)
        inside = [
            time
            for minutes in options
            for time in (_at(midnight, minutes), _at(midnight + DAY, minutes))
            if start - 2 * HOUR <= time < end
        ]
        return inside or [_at(midnight, minutes) for minutes in options]
    days = [reading[0] for reading in day.readings] if day.anchor is None else [day.anchor]
    woken = _WAKE.search(source.low) is not None
    ordered = _by_waking(options, as_given=woken or _written_in_digits(clock, source))
    if day.rrule:  # the next occurrence
        times = [_at(midnight, minutes) for minutes in ordered for midnight in days]
        return sorted(times, key=lambda time: time < source.now)
    if days[0] == source.midnight and tense_at(source.low, group.first) >= 0:  # "today at three" is ahead
        ahead = [minutes for minutes in ordered if _at(days[0], minutes) > source.now]
        ordered = [*ahead, *(minutes for minutes in ordered if minutes not in ahead)]
    return [_at(midnight, minutes) for midnight in days[:2] for minutes in ordered]


def _without_day(clock: TimeAtom, options: Sequence[int], source: ParseInput) -> list[datetime]:
    """The nearest sensible time: ahead, and within waking hours; just past if the text is about the past."""
    times = [_at(source.midnight + n * DAY, minutes) for n in (-1, 0, 1) for minutes in options]
    waking = {minutes for minutes in options if _WAKING[0] <= minutes < _WAKING[1]} or set(options)

    past = tense_at(source.low, clock.first) < 0

    def order(time: datetime) -> tuple[bool, bool, float]:
        asleep = time.hour * 60 + time.minute not in waking
        wrong = time > source.now if past else time < source.now
        return wrong, asleep, abs((time - source.now).total_seconds())

    return sorted(times, key=order)


def _by_waking(options: Sequence[int], *, as_given: bool) -> list[int]:
    """Hours from eight to noon are before noon, from one to seven after it."""
    if as_given or len(options) == 1:
        return list(options)
    return sorted(options, key=lambda minutes: not 8 * 60 <= minutes < 20 * 60)


def _written_in_digits(clock: TimeAtom, source: ParseInput) -> bool:
    return ":" in source.low[clock.first : clock.last] and clock.minutes[0] >= 7 * 60


def _within_part(options: list[int], part: str) -> list[int]:
    late = part != "morning"
    fitting = [minutes for minutes in options if (minutes >= 12 * 60) == late]
    return fitting or options


def _bare_part(part: TimeAtom, source: ParseInput) -> tuple[Interval, ...]:
    first, last = part.minutes
    parts: list[Interval] = [
        (_at(day, first), _at(day, last)) for n in (-1, 0, 1) for day in [source.midnight + n * DAY]
    ]
    return nearest_first(parts, source.now, tense_at(source.low, part.first) or 1)[:2]


def _at(midnight: datetime, minutes: int) -> datetime:
    return midnight + timedelta(minutes=minutes)
