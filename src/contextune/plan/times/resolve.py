"""Which times a request may mean: what it says of time put together with the times of the items it hangs on.

"An hour before his jab" is the start of an item less an hour, "Sunday at eleven" is all said, "same hour
tomorrow" takes the day from what is said and the hour from an item. Every sensible combination is a
candidate and says what it is made of; which one is meant, a learned scorer decides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo

from contextune.plan.times.phrases import ClockMention, DayMention, TimeExpressions, TimeShift, find_times
from contextune.types import Item, local_time

_DAY = timedelta(days=1)
_MOST = 6
"""So many items are looked at, best first."""
_READ = 6
"""So many times of one item's text."""
_APART = 60
"""Letters between a day and a clock that still belong together."""


@dataclass(frozen=True)
class CandidateTime:
    """A time or, where `clock` is None, a day; and what it is made of."""

    day: date
    clock: int | None
    """Minutes after midnight."""
    item: int | None = None
    """The place of the item it has to do with, among those given."""
    field: str | None = None
    words: str = ""
    said_day: bool = False
    said_clock: bool = False
    sure: bool = True
    """Whether it is said if the morning or the evening is meant."""
    shift: int = 0
    """1 if what is said is added, -1 if it is taken off, in the way it is said; 2 and -2 where it is not."""
    step: int = 0
    """Days it is moved by."""
    item_day: bool = False
    item_clock: bool = False
    read: bool = False
    """Whether it stands in the item's words, not in one of its times."""

    @property
    def time(self) -> datetime | None:
        """As a moment, where the hour is known."""
        if self.clock is None:
            return None
        return datetime.combine(self.day, datetime.min.time()) + timedelta(minutes=self.clock)


@dataclass(frozen=True)
class _ItemTime:
    """A time of an item."""

    item: int
    field: str
    day: date
    clock: int | None
    words: str = ""
    read: bool = False


def moments(
    said: TimeExpressions, now: datetime, items: Sequence[Item], zone: tzinfo | None = None
) -> list[CandidateTime]:
    """All that may be meant, each time once, in the way that leaves least of what is said unused."""
    bases = [base for place, item in enumerate(items[:_MOST]) for base in _bases(place, item, now, zone)]
    found = list(_plain(said, now))
    for base in bases:
        found += _from_item(base, said)
    best: dict[tuple[date, int | None, int | None], CandidateTime] = {}
    for one in found:
        key = (one.day, one.clock, one.item)
        if key not in best or _used(one) > _used(best[key]):
            best[key] = one
    return list(best.values())


def _used(one: CandidateTime) -> tuple[int, int]:
    return (one.said_day + one.said_clock + (one.shift in (1, -1)) + bool(one.step), one.sure - one.read)


def _plain(said: TimeExpressions, now: datetime) -> Iterator[CandidateTime]:
    """What needs no item."""
    today = now.date()
    minute = now.hour * 60 + now.minute
    days = [(day, heard.words, True) for heard in said.days for day in heard.dates]
    days += [(today, "", False), (today + _DAY, "", False)]
    for day, words, named in days:
        yield CandidateTime(day, None, words=words, said_day=named)
        for clock in said.clocks:
            for option in clock.minutes:
                yield CandidateTime(
                    day,
                    option,
                    words=f"{words} {clock.words}".strip(),
                    said_day=named,
                    said_clock=True,
                    sure=clock.sure,
                )
    for shift in said.shifts:
        later = now + shift.length
        sign = 1 if shift.sign == 1 else 2
        yield CandidateTime(later.date(), later.hour * 60 + later.minute, words=shift.words, shift=sign)
        yield CandidateTime(later.date(), None, words=shift.words, shift=sign)
        for clock in said.clocks if shift.length >= _DAY else ():
            for option in clock.minutes:
                yield CandidateTime(
                    later.date(), option, words=shift.words, said_clock=True, sure=clock.sure, shift=sign
                )
    yield CandidateTime(today, minute)


def _from_item(base: _ItemTime, said: TimeExpressions) -> Iterator[CandidateTime]:
    """A time of an item: as it is, on another day, at another hour, earlier or later."""
    plain = CandidateTime(
        base.day,
        base.clock,
        base.item,
        base.field,
        base.words,
        item_day=True,
        item_clock=True,
        read=base.read,
    )
    steps = [(0, base.day, False, "")]
    steps += [(step, base.day + step * _DAY, False, "") for step in said.steps]
    steps += [(0, day, True, heard.words) for heard in said.days for day in heard.dates]
    if 7 in said.steps:
        steps += [
            (7, _after(day, base.day), True, heard.words) for heard in said.days for day in heard.dates[:1]
        ]
    for step, day, named, words in steps:
        own = replace(plain, day=day, step=step, said_day=named, item_day=not named)
        own = replace(own, words=f"{base.words} {words}".strip())
        yield replace(own, clock=None, item_clock=False)
        if base.clock is not None:
            yield own
            yield from _shifted(own, said.shifts)
        for clock in said.clocks:
            for option in clock.minutes:
                at = f"{own.words} {clock.words}".strip()
                yield replace(own, clock=option, item_clock=False, said_clock=True, sure=clock.sure, words=at)


def _shifted(own: CandidateTime, shifts: Sequence[TimeShift]) -> Iterator[CandidateTime]:
    length = timedelta()
    for shift in shifts:
        for sign in (shift.sign,) if shift.sign else (1, -1):
            moved = _moved(own, sign * shift.length)
            yield replace(
                moved, shift=sign if shift.sign else 2 * sign, words=f"{own.words} {shift.words}".strip()
            )
        length += shift.sign * shift.length
    if len(shifts) > 1 and length:
        sign = 1 if length > timedelta() else -1
        words = " ".join([own.words, *(shift.words for shift in shifts)]).strip()
        yield replace(_moved(own, length), shift=sign, words=words)


def _moved(own: CandidateTime, by: timedelta) -> CandidateTime:
    moment = own.time
    if moment is None:
        return own
    moment += by
    return replace(own, day=moment.date(), clock=moment.hour * 60 + moment.minute)


def _after(day: date, base: date) -> date:
    """The first such weekday after a day, and not that day itself."""
    ahead = (day.weekday() - base.weekday()) % 7
    return base + (ahead or 7) * _DAY


def _bases(place: int, item: Item, now: datetime, zone: tzinfo | None) -> Iterator[_ItemTime]:
    schema = item.schema
    times = {role: local_time(moment, zone) for role, moment in item.times.items()}
    for role, wall in times.items():
        yield _ItemTime(place, schema.times[role], wall.date(), wall.hour * 60 + wall.minute)
    own = times.get("start") or times.get("due")
    for name in schema.text:
        value = item.fields.get(name)
        if isinstance(value, str):
            yield from _read(place, name, find_times(value, times.get("made") or now), own)


def _read(place: int, name: str, found: TimeExpressions, own: datetime | None) -> Iterator[_ItemTime]:
    """Times in the words of an item: every clock with the day before it, every day by itself."""
    for day in found.days[:_READ]:
        for one in day.dates[:1]:
            yield _ItemTime(place, name, one, None, day.words, read=True)
    for clock in found.clocks[:_READ]:
        days = _days_of(clock, found.days)
        for minutes in clock.minutes[: 1 if clock.sure else 2]:
            for day in days:
                for one in day.dates[:2]:
                    yield _ItemTime(place, name, one, minutes, f"{day.words} {clock.words}", read=True)
            if own is not None:
                yield _ItemTime(place, name, own.date(), minutes, clock.words, read=True)


def _days_of(clock: ClockMention, days: Sequence[DayMention]) -> list[DayMention]:
    near = [day for day in days if day.end <= clock.start and clock.start - day.end < _APART]
    after = [day for day in days if 0 <= day.start - clock.end < _APART]
    return [*near[-1:], *after[:1]] or list(days[:1])
