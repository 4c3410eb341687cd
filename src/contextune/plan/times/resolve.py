"""Candidate times: combine the time expressions of a request with the times of its items.

"Sunday at eleven" needs no item, "an hour before his jab" is the start of an item minus an hour, "same hour
tomorrow" takes the day from the request and the hour from an item. Every sensible combination is a candidate
and records its parts; the learned scorer chooses among them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo

from contextune.plan.times.phrases import ClockMention, DayMention, TimeExpressions, TimeShift, find_times
from contextune.time_phrases import TimePhrase
from contextune.types import Item, local_time

_DAY = timedelta(days=1)
_MAX_ITEMS = 6
"""Items that are read, best first."""
_MAX_MENTIONS = 6
"""Time expressions read from the text of one item."""
_MAX_GAP = 60
"""Maximum number of characters between a day and a clock time that belong together."""


@dataclass(frozen=True)
class CandidateTime:
    """A time, or a day if `clock` is None, and the parts it is made of."""

    day: date
    clock: int | None
    """Minutes after midnight."""
    item: int | None = None
    """The index of the item it is derived from."""
    field: str | None = None
    words: str = ""
    day_from_request: bool = False
    clock_from_request: bool = False
    certain: bool = True
    """Whether morning or evening is clear."""
    shift: int = 0
    """1 if a duration is added, -1 if subtracted, as the request says; 2 and -2 if it does not say which."""
    day_offset: int = 0
    day_from_item: bool = False
    clock_from_item: bool = False
    in_text: bool = False
    """Whether it is from the item's text, not from one of its time fields."""
    item_clock: int | None = None
    """The clock time of the item, whether it is kept or not."""

    @property
    def time(self) -> datetime | None:
        """Date and time; None for a day."""
        if self.clock is None:
            return None
        return datetime.combine(self.day, datetime.min.time()) + timedelta(minutes=self.clock)


@dataclass(frozen=True)
class _ItemTime:
    """A time in a field or in the text of an item."""

    item: int
    field: str
    day: date
    clock: int | None
    words: str = ""
    in_text: bool = False


def is_best_reading(candidate: CandidateTime, phrases: Sequence[TimePhrase]) -> bool:
    """Whether the request, read by itself, means this time: of "at three", the next three by day.

    Args:
        candidate: A time, or a day.
        phrases: The time phrases of the request: `parse_time_phrases(request.text, now)`.
    """
    for phrase in phrases:
        if phrase.kind in ("duration", "recurrence"):
            continue
        if candidate.clock is None:
            if phrase.granularity == "day" and phrase.anchor.date() == candidate.day:
                return True
        elif phrase.granularity in ("minute", "hour") and phrase.anchor.replace(second=0) == candidate.time:
            return True
    return False


def candidate_times(
    times: TimeExpressions, now: datetime, items: Sequence[Item], zone: tzinfo | None = None
) -> list[CandidateTime]:
    """All candidate times; of equal ones, the one that uses most of the request's expressions."""
    bases = [
        base for index, item in enumerate(items[:_MAX_ITEMS]) for base in _item_times(index, item, now, zone)
    ]
    candidates = list(_without_item(times, now))
    for base in bases:
        candidates += _from_item(base, times)
    best: dict[tuple[date, int | None, int | None], CandidateTime] = {}
    for candidate in candidates:
        key = (candidate.day, candidate.clock, candidate.item)
        if key not in best or _use(candidate) > _use(best[key]):
            best[key] = candidate
    return list(best.values())


def _use(candidate: CandidateTime) -> tuple[int, int]:
    used = candidate.day_from_request + candidate.clock_from_request + (candidate.shift in (1, -1))
    return used + bool(candidate.day_offset), candidate.certain - candidate.in_text


def _without_item(times: TimeExpressions, now: datetime) -> Iterator[CandidateTime]:
    """Candidates that need no item."""
    today = now.date()
    minute = now.hour * 60 + now.minute
    days = [(day, mention.words, True) for mention in times.days for day in mention.dates]
    days += [(today, "", False), (today + _DAY, "", False)]
    for day, words, named in days:
        yield CandidateTime(day, None, words=words, day_from_request=named)
        for clock in times.clocks:
            for option in clock.minutes:
                yield CandidateTime(
                    day,
                    option,
                    words=f"{words} {clock.words}".strip(),
                    day_from_request=named,
                    clock_from_request=True,
                    certain=clock.certain,
                )
    for shift in times.shifts:
        later = now + shift.length
        sign = 1 if shift.sign == 1 else 2
        yield CandidateTime(later.date(), later.hour * 60 + later.minute, words=shift.words, shift=sign)
        yield CandidateTime(later.date(), None, words=shift.words, shift=sign)
        for clock in times.clocks if shift.length >= _DAY else ():
            for option in clock.minutes:
                yield CandidateTime(
                    later.date(),
                    option,
                    words=shift.words,
                    clock_from_request=True,
                    certain=clock.certain,
                    shift=sign,
                )
    yield CandidateTime(today, minute)


def _from_item(base: _ItemTime, times: TimeExpressions) -> Iterator[CandidateTime]:
    """An item's time: unchanged, on another day, at another hour, earlier or later."""
    unchanged = CandidateTime(
        base.day,
        base.clock,
        base.item,
        base.field,
        base.words,
        day_from_item=True,
        clock_from_item=True,
        in_text=base.in_text,
        item_clock=base.clock,
    )
    days = [(0, base.day, False, "")]
    days += [(offset, base.day + offset * _DAY, False, "") for offset in times.day_offsets]
    days += [(0, day, True, mention.words) for mention in times.days for day in mention.dates]
    if 7 in times.day_offsets:
        days += [
            (7, _after(day, base.day), True, mention.words)
            for mention in times.days
            for day in mention.dates[:1]
        ]
    if -7 in times.day_offsets:
        days += [
            (-7, _before(day, base.day), True, mention.words)
            for mention in times.days
            for day in mention.dates[:1]
        ]
    for offset, day, named, words in days:
        moved = replace(
            unchanged, day=day, day_offset=offset, day_from_request=named, day_from_item=not named
        )
        moved = replace(moved, words=f"{base.words} {words}".strip())
        yield replace(moved, clock=None, clock_from_item=False)
        if base.clock is not None:
            yield moved
            # whole days are among the offsets: "by a week" moves by one, not by two
            shifts = [shift for shift in times.shifts if not offset or shift.length % _DAY]
            yield from _shifted(moved, shifts)
        for clock in times.clocks:
            for option in clock.minutes:
                at = f"{moved.words} {clock.words}".strip()
                yield replace(
                    moved,
                    clock=option,
                    clock_from_item=False,
                    clock_from_request=True,
                    certain=clock.certain,
                    words=at,
                )


def _shifted(base: CandidateTime, shifts: Sequence[TimeShift]) -> Iterator[CandidateTime]:
    length = timedelta()
    for shift in shifts:
        for sign in (shift.sign,) if shift.sign else (1, -1):
            moved = _moved(base, sign * shift.length)
            yield replace(
                moved, shift=sign if shift.sign else 2 * sign, words=f"{base.words} {shift.words}".strip()
            )
        length += shift.sign * shift.length
    if len(shifts) > 1 and length:
        sign = 1 if length > timedelta() else -1
        words = " ".join([base.words, *(shift.words for shift in shifts)]).strip()
        yield replace(_moved(base, length), shift=sign, words=words)


def _moved(base: CandidateTime, by: timedelta) -> CandidateTime:
    moment = base.time
    if moment is None:
        return base
    try:
        moment += by
    except OverflowError:  # "99,999,999 hours later"
        return base
    return replace(base, day=moment.date(), clock=moment.hour * 60 + moment.minute)


def _after(day: date, base: date) -> date:
    """The next such weekday, strictly after `base`."""
    ahead = (day.weekday() - base.weekday()) % 7
    return base + (ahead or 7) * _DAY


def _before(day: date, base: date) -> date:
    """The last such weekday, strictly before `base`."""
    back = (base.weekday() - day.weekday()) % 7
    return base - (back or 7) * _DAY


def _item_times(index: int, item: Item, now: datetime, zone: tzinfo | None) -> Iterator[_ItemTime]:
    schema = item.schema
    fields = {role: local_time(moment, zone) for role, moment in item.times.items()}
    for role, wall in fields.items():
        yield _ItemTime(index, schema.times[role], wall.date(), wall.hour * 60 + wall.minute)
    item_time = fields.get("start") or fields.get("due")
    for name in schema.text:
        value = item.fields.get(name)
        if isinstance(value, str):
            yield from _text_times(index, name, find_times(value, fields.get("made") or now), item_time)


def _text_times(
    index: int, name: str, times: TimeExpressions, item_time: datetime | None
) -> Iterator[_ItemTime]:
    """Times in an item's text: every clock time with the days next to it, and every day by itself."""
    for day in times.days[:_MAX_MENTIONS]:
        for date_ in day.dates[:1]:
            yield _ItemTime(index, name, date_, None, day.words, in_text=True)
    for clock in times.clocks[:_MAX_MENTIONS]:
        days = _nearby_days(clock, times.days)
        for minutes in clock.minutes[: 1 if clock.certain else 2]:
            for day in days:
                for date_ in day.dates[:2]:
                    yield _ItemTime(index, name, date_, minutes, f"{day.words} {clock.words}", in_text=True)
            if item_time is not None:
                yield _ItemTime(index, name, item_time.date(), minutes, clock.words, in_text=True)


def _nearby_days(clock: ClockMention, days: Sequence[DayMention]) -> list[DayMention]:
    before = [day for day in days if day.end <= clock.start and clock.start - day.end < _MAX_GAP]
    after = [day for day in days if 0 <= day.start - clock.end < _MAX_GAP]
    return [*before[-1:], *after[:1]] or list(days[:1])
