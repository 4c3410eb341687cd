"""Join neighbouring atoms to groups: "Saturday" + "at noon", "Tuesday" + "next week"."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from contextune.time_phrases.calendar_math import day_interval
from contextune.time_phrases.phrase import ParseInput, TimeAtom

_GAP = re.compile(
    r"(?:t$|(?:'s)?[\s,]*(?:(?:at|on|in|around|about|from|by|of|the|for|@|till|until|before|after)\s+){0,2}$)"
)
_DAY_FORMS = frozenset(
    ["relative day", "weekday", "date", "day of month", "ago", "ahead", "recurrence", "weekend"]
)
_SPECIFIC = frozenset(["date", "day of month"])


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
