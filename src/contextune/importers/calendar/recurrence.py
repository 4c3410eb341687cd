"""Parse events and expand their recurrence rules (icalendar, recurring-ical-events), in bounded time."""

import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any, cast

import icalendar
import recurring_ical_events

from contextune.importers.calendar.blocks import CalendarEntry
from contextune.importers.reader import PARSE_ERRORS

_UNITS = {"HOURLY": timedelta(hours=1), "DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
"""Longer units have only thousands of steps until the year 9999."""
_MAX_STEPS = 150_000
"""Four centuries of days or 17 years of hours, which take seconds to expand."""
_CHECKED_DAYS = 10_500
"""28 years, after which the weekdays of all dates repeat: a day that matches at all is among them."""
_RANGES = {"BYMONTH": 12, "BYMONTHDAY": 31, "BYYEARDAY": 366, "BYWEEKNO": 53}
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def has_too_many_steps(rule: Any, start: date | None, until: date) -> bool:
    """Whether the rule has more steps between its start and `until` than can be expanded in seconds."""
    unit = _unit(rule)
    if unit is None or start is None:
        return False
    return (_day(until) - _day(start)) / (unit * _interval(rule)) > _MAX_STEPS


def never_occurs(rule: Any, start: date | None) -> bool:
    """Whether no date matches the rule, such as the 30th of February."""
    if _interval(rule) < 1:
        return True
    for name, most in _RANGES.items():
        values = _numbers(rule, name)
        if values and not any(1 <= abs(value) <= most for value in values):
            return True
    if _unit(rule) is None:
        return False
    positions = _numbers(rule, "BYSETPOS")
    if positions and min(map(abs, positions)) > _times_per_step(rule):
        return True
    limited = any(rule.get(name) for name in (*_RANGES, "BYDAY"))
    return limited and start is not None and not any(_matches(rule, day) for day in _days(rule, start))


def _unit(rule: Any) -> timedelta | None:
    return _UNITS.get(str(next(iter(rule.get("FREQ", ())), "")).upper())


def _interval(rule: Any) -> int:
    return next(iter(_numbers(rule, "INTERVAL")), 1)


def _numbers(rule: Any, name: str) -> list[int]:
    return [int(value) for value in rule.get(name, ())]


def _times_per_step(rule: Any) -> int:
    """The largest number of occurrences in one step of the rule."""
    count = 7 if _unit(rule) == _UNITS["WEEKLY"] else 1
    for name in ("BYHOUR", "BYMINUTE", "BYSECOND"):
        count *= len(rule.get(name, ())) or 1
    return count


def _days(rule: Any, start: date) -> Iterator[date]:
    """The days that the rule steps through, up to `_CHECKED_DAYS`."""
    unit = _unit(rule)
    step = timedelta(days=1)
    if unit and unit != _UNITS["WEEKLY"]:  # a weekly step covers all days of the week
        step = max(step, unit * _interval(rule))
    time = datetime.combine(_day(start), datetime.min.time())
    for _ in range(_CHECKED_DAYS):
        yield time.date()
        try:
            time += step
        except OverflowError:
            return


def _matches(rule: Any, day: date) -> bool:
    month_end = (day.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    year_length = date(day.year, 12, 31).timetuple().tm_yday
    day_of_year = day.timetuple().tm_yday
    weekdays = {str(day_rule)[-2:].upper() for day_rule in rule.get("BYDAY", ())}
    return (
        _allows(_numbers(rule, "BYMONTH"), day.month)
        and _allows(_numbers(rule, "BYMONTHDAY"), day.day, day.day - month_end.day - 1)
        and _allows(_numbers(rule, "BYYEARDAY"), day_of_year, day_of_year - year_length - 1)
        and (not weekdays or _WEEKDAYS[day.weekday()] in weekdays)
    )


def _allows(allowed: list[int], *values: int) -> bool:
    return not allowed or any(value in allowed for value in values)


def _day(time: date) -> date:
    return time.date() if isinstance(time, datetime) else time


MAX_OCCURRENCES = 1000
"""Occurrences of one event in two years; events with more are skipped."""
_MAX_PER_DAY = 24


class TooManyOccurrences(Exception):  # noqa: N818  # control flow, not a failure
    """An event with more than `MAX_OCCURRENCES` occurrences."""


def parse_component(block: CalendarEntry) -> Any:
    """The entry as an icalendar component, or None if it cannot be parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about guessed time zones, which are right
        try:
            calendar = cast("Any", icalendar.Calendar.from_ical(block.text))
            components = [_drop_broken(component) for component in calendar.walk(block.kind)]
        except PARSE_ERRORS:
            return None
    return components[0] if components else None


def _drop_broken(component: Any) -> Any:
    """Remove the properties that could not be parsed: reading one raises an error."""
    for name, _ in component.errors:
        values = [value for value in as_list(component.get(name)) if type(value).__name__ != "vBroken"]
        component.pop(name, None)
        if values:
            component[name] = values
    return component


def expand_occurrences(components: Sequence[Any], kind: str, since: datetime, until: datetime) -> list[Any]:
    """All occurrences of an event or task, given with its exceptions, between two times."""
    calendar = cast("Any", icalendar.Calendar())
    for component in components:
        if component is not None:
            _check(component, until)
            calendar.add_component(component)
    query = cast("Any", recurring_ical_events).of(calendar, components=(kind,))
    occurrences: list[Any] = query.between(since, until)
    if len(occurrences) > MAX_OCCURRENCES:
        raise TooManyOccurrences
    return occurrences


def _check(component: Any, until: datetime) -> None:
    """Reject rules that cannot be expanded in bounded time."""
    if any(name == "RRULE" for name, _ in component.errors):
        raise ValueError("invalid recurrence rule")
    for rule in as_list(component.get("RRULE")):
        if {"SECONDLY", "MINUTELY"} & {str(freq).upper() for freq in rule.get("FREQ", ())}:
            raise TooManyOccurrences
        per_day = 1
        for name in ("BYHOUR", "BYMINUTE", "BYSECOND"):
            per_day *= len(rule.get(name, ())) or 1
        if per_day > _MAX_PER_DAY:
            raise TooManyOccurrences
        start = getattr(component.get("DTSTART"), "dt", None)
        if never_occurs(rule, start):
            raise ValueError("recurrence rule without occurrences")
        if has_too_many_steps(rule, start, until):
            raise TooManyOccurrences


def as_list(value: Any) -> list[Any]:
    """The values of a property, of which there may be none, one or several."""
    return cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
