"""Join neighbouring atoms to groups ("Saturday" + "at noon"), and resolve groups to intervals.

Resolving tells which day, and which of two clock times, is meant.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from contextune.time_phrases.calendar_math import DAY, HOUR, MINUTE, day_interval, nearest_first, tense_at
from contextune.time_phrases.days import part_of
from contextune.time_phrases.phrase import Direction, Granularity, Interval, ParseInput, TimeAtom

_GAP = re.compile(
    r"(?:t$|(?:'s)?[\s,]*(?:(?:at|on|in|around|about|from|by|of|the|for|@|till|until|before|after)\s+){0,2}$)"
)
_DAY_FORMS = frozenset(
    ["relative day", "weekday", "date", "day of month", "ago", "ahead", "recurrence", "weekend"]
)
_SPECIFIC = frozenset(["date", "day of month"])
_WAKING = (7 * 60, 23 * 60)
"""Minutes after midnight between which an hour without am or pm is expected."""
_WAKE = re.compile(r"\b(?:wake|alarm|get up|got up|woke)\b")
"""An hour without am or pm is one of the morning."""
_MAX_READINGS = 4


@dataclass(frozen=True, slots=True)
class AtomGroup:
    """A day, a part of it and a clock time that belong together; or one atom of another form."""

    first: int
    last: int
    day: TimeAtom | None = None
    part: TimeAtom | None = None
    clock: TimeAtom | None = None
    other: TimeAtom | None = None

    @property
    def atoms(self) -> tuple[TimeAtom, ...]:
        """The atoms it is made of."""
        return tuple(atom for atom in (self.day, self.part, self.clock, self.other) if atom)


def drop_overlaps(atoms: Iterable[TimeAtom]) -> list[TimeAtom]:
    """Keep the longest of overlapping atoms, the most probable of equally long ones."""
    kept: list[TimeAtom] = []
    for atom in sorted(atoms, key=lambda atom: (atom.first - atom.last, -atom.confidence, atom.first)):
        if all(atom.last <= other.first or atom.first >= other.last for other in kept):
            kept.append(atom)
    return sorted(kept, key=lambda atom: atom.first)


def merge_days(atoms: Sequence[TimeAtom], source: ParseInput) -> list[TimeAtom]:
    """Merge atoms that name one day together: "Wednesday 21 August", "Tuesday next week"."""
    merged: list[TimeAtom] = []
    for atom in atoms:
        if merged and (both := _one_day(merged[-1], atom, source)):
            merged[-1] = both
        elif len(merged) > 1 and (both := _across_part(merged[-2], merged[-1], atom, source)):
            merged[-2:] = both
        else:
            merged.append(atom)
    return merged


def group_atoms(atoms: Sequence[TimeAtom], source: ParseInput) -> list[AtomGroup]:
    """Groups in the order of the text."""
    groups: list[AtomGroup] = []
    for atom in atoms:
        group = _single(atom)
        if groups and (both := _joined(groups[-1], group, source)):
            groups[-1] = both
        else:
            groups.append(group)
    return groups


def _across_part(
    day: TimeAtom, part: TimeAtom, week: TimeAtom, source: ParseInput
) -> tuple[TimeAtom, TimeAtom] | None:
    """The day of a week that is said behind a part of the day: "Friday evening next week"."""
    if part.form != "bare part" or week.form != "week" or source.low[part.last : week.first].strip(" ,"):
        return None
    both = _one_day(day, replace(week, first=part.first), source)
    return None if both is None else (replace(both, last=day.last), replace(part, last=week.last))


def _one_day(a: TimeAtom, b: TimeAtom, source: ParseInput) -> TimeAtom | None:
    gap = source.low[a.last : b.first]
    if len(gap) > 12 or not _GAP.match(gap):
        return None
    forms = {a.form, b.form}
    if forms == {"weekday", "week"}:
        weekday, week = (a, b) if a.form == "weekday" else (b, a)
        if not week.modifier or week.modifier == "past":
            return None
        number = weekday.readings[0][0].weekday()
        day = day_interval(week.readings[0][0], number)
        direction = "past" if day[1] <= source.now else "future"
        return replace(
            weekday, first=a.first, last=b.last, readings=(day,), direction=direction, modifier=week.modifier
        )
    if "weekday" in forms and forms & _SPECIFIC:
        weekday, date = (a, b) if a.form == "weekday" else (b, a)
        number = weekday.readings[0][0].weekday()
        fitting = tuple(reading for reading in date.readings if reading[0].weekday() == number)
        confidence = 1 - (1 - a.confidence) * (1 - b.confidence)
        return replace(
            date,
            first=a.first,
            last=b.last,
            readings=fitting or date.readings,
            confidence=round(confidence, 3),
        )
    if forms in ({"relative day", "date"}, {"relative day", "weekday"}):  # "tomorrow, Friday"
        day = a if a.form == "relative day" else b
        return replace(day, first=a.first, last=b.last)
    return None


def _single(atom: TimeAtom) -> AtomGroup:
    if atom.form == "clock":
        return AtomGroup(atom.first, atom.last, clock=atom)
    if atom.form == "bare part":
        return AtomGroup(atom.first, atom.last, part=atom)
    coarse = atom.form in ("ago", "ahead") and atom.granularity not in ("day", "week")
    if atom.form in _DAY_FORMS and not coarse:
        return AtomGroup(atom.first, atom.last, day=atom)
    if atom.form == "part of day":
        return AtomGroup(atom.first, atom.last, day=atom)
    return AtomGroup(atom.first, atom.last, other=atom)


def _joined(a: AtomGroup, b: AtomGroup, source: ParseInput) -> AtomGroup | None:
    gap = source.low[a.last : b.first]
    if a.other or b.other or len(gap) > 14 or not _GAP.match(gap):
        return None
    if (a.day and b.day) or (a.part and b.part) or (a.clock and b.clock):
        return None
    group = AtomGroup(a.first, b.last, a.day or b.day, a.part or b.part, a.clock or b.clock)
    has_part = group.day is not None and group.day.granularity == "part of day"
    if group.part and has_part and group.part.modifier != (group.day.modifier if group.day else ""):
        return None
    alone = a.part if not (a.day or a.clock) else b.part if not (b.day or b.clock) else None
    if alone and alone.confidence == 0 and not gap.isspace() and not gap.strip().startswith("of"):
        return None  # "Friday, morning run"
    return group


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
