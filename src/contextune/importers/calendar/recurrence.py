"""Parse events and expand their recurrence rules (icalendar, recurring-ical-events), in bounded time.

What a rule costs to expand is estimated first, and rules that never occur are recognised.
"""

import warnings
from calendar import isleap, monthrange
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from importlib import import_module
from typing import Any, cast

from contextune.errors import MissingExtraError
from contextune.importers.calendar.blocks import CalendarEntry
from contextune.importers.reader import PARSE_ERRORS

_UNITS = {"HOURLY": timedelta(hours=1), "DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
"""Longer units have only thousands of steps until the year 9999."""
_MAX_STEPS = 150_000
"""Four centuries of days or 17 years of hours, which take seconds to expand."""
_CHECKED_DAYS = 10_500
"""28 years, after which the weekdays of all dates repeat: a day that matches at all is among them."""
MAX_FILE_STEPS = 2_000_000
"""About twenty seconds: two hundred daily events of 25 years."""
_LONG_UNIT = timedelta(days=30)
"""A month; dates of a yearly rule are tried month by month, too."""
_LAST_CYCLE, _SAME_CALENDAR = 9944, 1916
"""Two years with the same calendar, also of the 27 years that follow each."""
_CYCLE_STEPS = 12 * 56
"""Months of `_LAST_CYCLE` and later."""
_RANGES = {"BYMONTH": 12, "BYMONTHDAY": 31, "BYYEARDAY": 366, "BYWEEKNO": 53}
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MAX_OCCURRENCES = 1000
"""Occurrences of one event in two years; events with more are skipped."""
_MAX_PER_DAY = 24


class StepBudgetExceeded(Exception):  # noqa: N818  # control flow, not a failure
    """The recurrence rules of a file take too many steps."""


class StepBudget:
    """Steps that the recurrence rules of one file may take."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Raise `StepBudgetExceeded` if fewer steps are left."""
        if steps > self._left:
            raise StepBudgetExceeded
        self._left -= steps


def number_of_steps(rule: Any, start: date | None, until: date) -> int:
    """Number of dates that are tried to expand the rule until this time."""
    if start is None:
        return 1
    unit = (_unit(rule) or _LONG_UNIT) * max(1, _interval(rule))
    return max(1, int((_day(until) - _day(start)) / unit))


def has_too_many_steps(rule: Any, start: date | None, until: date) -> bool:
    """Whether the rule has more steps between its start and `until` than can be expanded in seconds."""
    unit = _unit(rule)
    if unit is None or start is None:
        return False
    return (_day(until) - _day(start)) / (unit * _interval(rule)) > _MAX_STEPS


def never_occurs(rule: Any, start: date | None, budget: StepBudget) -> bool:
    """Whether no date matches the rule, such as the 30th of February."""
    if _interval(rule) < 1:
        return True
    for name, most in _RANGES.items():
        values = _numbers(rule, name)
        if values and not any(1 <= abs(value) <= most for value in values):
            return True
    if _unit(rule) is None:
        return start is not None and _never_in_cycle(rule, start, budget)
    positions = _numbers(rule, "BYSETPOS")
    if positions and min(map(abs, positions)) > _times_per_step(rule):
        return True
    limited = any(rule.get(name) for name in (*_RANGES, "BYDAY"))
    if not limited or start is None:
        return False
    day_filter = _DayFilter(rule)
    return not any(day_filter.allows(day) for day in _days(rule, start, budget))


def _never_in_cycle(rule: Any, start: date, budget: StepBudget) -> bool:
    """Whether a monthly or yearly rule has no date in 28 years, after which the calendar repeats.

    dateutil looks for the next date until the year 9999. The rule is moved to the last years before that.
    """
    import icalendar
    from dateutil.rrule import rrulestr

    parts = {name: value for name, value in rule.items() if name.upper() not in ("UNTIL", "COUNT")}
    day = _day(start)
    year = _LAST_CYCLE + (day.year - _SAME_CALENDAR) % 28
    moved = datetime(year, day.month, min(day.day, monthrange(year, day.month)[1]), 12)
    try:
        dates = rrulestr(icalendar.vRecur(parts).to_ical().decode(), dtstart=moved)
        if next(iter(dates), None) is not None:
            return False
    except PARSE_ERRORS:  # a rule that dateutil does not know
        return False
    budget.spend(_CYCLE_STEPS)
    return True


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


def _days(rule: Any, start: date, budget: StepBudget) -> Iterator[date]:
    """The days that the rule steps through, up to `_CHECKED_DAYS`."""
    unit = _unit(rule)
    step = timedelta(days=1)
    if unit and unit != _UNITS["WEEKLY"]:  # a weekly step covers all days of the week
        step = max(step, unit * _interval(rule))
    time = datetime.combine(_day(start), datetime.min.time())
    for _ in range(_CHECKED_DAYS):
        budget.spend(1)
        yield time.date()
        try:
            time += step
        except OverflowError:
            return


class _DayFilter:
    """The days that a rule allows, by month, day of the month, day of the year and weekday."""

    def __init__(self, rule: Any) -> None:
        self._months = frozenset(_numbers(rule, "BYMONTH"))
        self._days = frozenset(_numbers(rule, "BYMONTHDAY"))
        self._year_days = frozenset(_numbers(rule, "BYYEARDAY"))
        names = {str(day_rule)[-2:].upper() for day_rule in rule.get("BYDAY", ())}
        self._weekdays = frozenset(number for number, name in enumerate(_WEEKDAYS) if name in names)
        self._has_weekdays = bool(names)

    def allows(self, day: date) -> bool:
        """Whether the rule allows this day."""
        if self._months and day.month not in self._months:
            return False
        if self._has_weekdays and day.weekday() not in self._weekdays:
            return False
        if self._days and day.day not in self._days:
            length = monthrange(day.year, day.month)[1]
            if day.day - length - 1 not in self._days:
                return False
        if self._year_days:
            day_of_year = day.timetuple().tm_yday
            length = 366 if isleap(day.year) else 365
            return not self._year_days.isdisjoint((day_of_year, day_of_year - length - 1))
        return True


def _day(time: date) -> date:
    return time.date() if isinstance(time, datetime) else time


class TooManyOccurrences(Exception):  # noqa: N818  # control flow, not a failure
    """An event with more than `MAX_OCCURRENCES` occurrences."""


def parse_component(block: CalendarEntry) -> Any:
    """The entry as an icalendar component, or None if it cannot be parsed."""
    icalendar = _library("icalendar")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about guessed time zones, which are right
        try:
            calendar = icalendar.Calendar.from_ical(block.text)
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


def expand_occurrences(
    components: Sequence[Any], kind: str, since: datetime, until: datetime, budget: StepBudget
) -> list[Any]:
    """All occurrences of an event or task, given with its exceptions, between two times."""
    calendar = _library("icalendar").Calendar()
    for component in components:
        if component is not None:
            _check(component, until, budget)
            calendar.add_component(component)
    query = _library("recurring_ical_events").of(calendar, components=(kind,))
    occurrences: list[Any] = query.between(since, until)
    if len(occurrences) > MAX_OCCURRENCES:
        raise TooManyOccurrences
    return occurrences


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading calendars", "calendar") from error


def _check(component: Any, until: datetime, budget: StepBudget) -> None:
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
        if never_occurs(rule, start, budget):
            raise ValueError("recurrence rule without occurrences")
        if has_too_many_steps(rule, start, until):
            raise TooManyOccurrences
        budget.spend(number_of_steps(rule, start, until))


def as_list(value: Any) -> list[Any]:
    """The values of a property, of which there may be none, one or several."""
    return cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
