"""Parse events and expand their recurrence rules (icalendar, recurring-ical-events), in bounded time."""

import warnings
from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, cast

from contextune.errors import MissingExtraError
from contextune.importers.calendar.blocks import CalendarEntry
from contextune.importers.calendar.rules import StepBudget, has_too_many_steps, never_occurs, number_of_steps
from contextune.importers.reader import PARSE_ERRORS

MAX_OCCURRENCES = 1000
"""Occurrences of one event in two years; events with more are skipped."""
_MAX_PER_DAY = 24


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
