"""Events that repeat: their rules, exceptions and zones, unrolled by libraries made for it."""

import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any, cast

from contextune.errors import MissingExtraError
from contextune.importers.calendar.blocks import CalendarEntry
from contextune.importers.reader import UNFORESEEN

_UNITS = {"HOURLY": timedelta(hours=1), "DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
"""Of longer ones there are but thousands until the end of time."""
_MOST_STEPS = 150_000
"""Days of four centuries, or hours of seventeen years: seconds of work."""
_LOOKED_AT = 10_500
"""Days within which a day that comes at all has come: 28 years, after which weekdays fall as before."""
_RANGES = {"BYMONTH": 12, "BYMONTHDAY": 31, "BYYEARDAY": 366, "BYWEEKNO": 53}
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def endless(rule: Any, start: date | None, until: date) -> bool:
    """Whether it has more steps from its start to `until` than anybody would wait for."""
    unit = _unit(rule)
    if unit is None or start is None:
        return False
    return (_day(until) - _day(start)) / (unit * _interval(rule)) > _MOST_STEPS


def impossible(rule: Any, start: date | None) -> bool:
    """Whether it never comes true, as on the 30th of February."""
    if _interval(rule) < 1:
        return True
    for name, most in _RANGES.items():
        values = _numbers(rule, name)
        if values and not any(1 <= abs(value) <= most for value in values):
            return True
    if _unit(rule) is None:
        return False
    positions = _numbers(rule, "BYSETPOS")
    if positions and min(map(abs, positions)) > _at_once(rule):
        return True
    limited = any(rule.get(name) for name in (*_RANGES, "BYDAY"))
    return limited and start is not None and not any(_fits(rule, day) for day in _days(rule, start))


def _unit(rule: Any) -> timedelta | None:
    return _UNITS.get(str(next(iter(rule.get("FREQ", ())), "")).upper())


def _interval(rule: Any) -> int:
    return next(iter(_numbers(rule, "INTERVAL")), 1)


def _numbers(rule: Any, name: str) -> list[int]:
    return [int(value) for value in rule.get(name, ())]


def _at_once(rule: Any) -> int:
    """How many times one step can stand for."""
    found = 7 if _unit(rule) == _UNITS["WEEKLY"] else 1
    for name in ("BYHOUR", "BYMINUTE", "BYSECOND"):
        found *= len(rule.get(name, ())) or 1
    return found


def _days(rule: Any, start: date) -> Iterator[date]:
    """The days that the rule goes through, as many as are looked at."""
    unit = _unit(rule)
    step = timedelta(days=1)
    if unit and unit != _UNITS["WEEKLY"]:  # whose steps each stand for all days of a week
        step = max(step, unit * _interval(rule))
    time = datetime.combine(_day(start), datetime.min.time())
    for _ in range(_LOOKED_AT):
        yield time.date()
        try:
            time += step
        except OverflowError:
            return


def _fits(rule: Any, day: date) -> bool:
    length = (day.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    year = date(day.year, 12, 31).timetuple().tm_yday
    of_year = day.timetuple().tm_yday
    weekdays = {str(one)[-2:].upper() for one in rule.get("BYDAY", ())}
    return (
        _among(_numbers(rule, "BYMONTH"), day.month)
        and _among(_numbers(rule, "BYMONTHDAY"), day.day, day.day - length.day - 1)
        and _among(_numbers(rule, "BYYEARDAY"), of_year, of_year - year - 1)
        and (not weekdays or _WEEKDAYS[day.weekday()] in weekdays)
    )


def _among(given: list[int], *values: int) -> bool:
    return not given or any(value in given for value in values)


def _day(time: date) -> date:
    return time.date() if isinstance(time, datetime) else time


MOST = 1000
"""Occurrences of one event: more than a thousand in two years is no event."""
_MOST_A_DAY = 24


class TooManyOccurrences(Exception):  # noqa: N818  # a finding, no failure
    """An event that would be thousands."""


def parsed(block: CalendarEntry) -> Any:
    """The event or task as the library has it, or None where it can make nothing of it."""
    try:
        import icalendar
    except ImportError:
        raise MissingExtraError("reading calendars", "import") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about guesses at zones, which are right
        try:
            calendar = cast("Any", icalendar.Calendar.from_ical(block.text))
            found = [_whole(one) for one in calendar.walk(block.kind)]
        except UNFORESEEN:
            return None
    return found[0] if found else None


def _whole(component: Any) -> Any:
    """Without the properties that could not be read: looking at one would raise an error."""
    for name, _ in component.errors:
        kept = [one for one in listed(component.get(name)) if type(one).__name__ != "vBroken"]
        component.pop(name, None)
        if kept:
            component[name] = kept
    return component


def occurrences(components: Sequence[Any], kind: str, since: datetime, until: datetime) -> list[Any]:
    """An event, or a task, with its exceptions, once for each time it takes place."""
    try:
        import icalendar
        import recurring_ical_events
    except ImportError:
        raise MissingExtraError("reading calendars", "import") from None
    calendar = cast("Any", icalendar.Calendar())
    for component in components:
        if component is not None:
            _check(component, until)
            calendar.add_component(component)
    query = cast("Any", recurring_ical_events).of(calendar, components=(kind,))
    found: list[Any] = query.between(since, until)
    if len(found) > MOST:
        raise TooManyOccurrences
    return found


def _check(component: Any, until: datetime) -> None:
    """Refuse rules that would take for ever to unroll."""
    if any(name == "RRULE" for name, _ in component.errors):
        raise ValueError("a rule that cannot be read")
    for rule in listed(component.get("RRULE")):
        if {"SECONDLY", "MINUTELY"} & {str(freq).upper() for freq in rule.get("FREQ", ())}:
            raise TooManyOccurrences
        a_day = 1
        for name in ("BYHOUR", "BYMINUTE", "BYSECOND"):
            a_day *= len(rule.get(name, ())) or 1
        if a_day > _MOST_A_DAY:
            raise TooManyOccurrences
        start = getattr(component.get("DTSTART"), "dt", None)
        if impossible(rule, start):
            raise ValueError("a rule that never comes true")
        if endless(rule, start, until):
            raise TooManyOccurrences


def listed(value: Any) -> list[Any]:
    """What stands under a name: nothing, one or several."""
    return cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
