"""Events that repeat: their rules, exceptions and zones, unrolled by libraries made for it."""

import warnings
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from contextune.errors import MissingExtraError
from contextune.sources.calendar_blocks import Block
from contextune.sources.calendar_limits import endless, impossible
from contextune.sources.reading import UNFORESEEN

MOST = 1000
"""Occurrences of one event: more than a thousand in two years is no event."""
_MOST_A_DAY = 24


class TooOften(Exception):  # noqa: N818  # a finding, no failure
    """An event that would be thousands."""


def parsed(block: Block) -> Any:
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
        raise TooOften
    return found


def _check(component: Any, until: datetime) -> None:
    """Refuse rules that would take for ever to unroll."""
    if any(name == "RRULE" for name, _ in component.errors):
        raise ValueError("a rule that cannot be read")
    for rule in listed(component.get("RRULE")):
        if {"SECONDLY", "MINUTELY"} & {str(freq).upper() for freq in rule.get("FREQ", ())}:
            raise TooOften
        a_day = 1
        for name in ("BYHOUR", "BYMINUTE", "BYSECOND"):
            a_day *= len(rule.get(name, ())) or 1
        if a_day > _MOST_A_DAY:
            raise TooOften
        start = getattr(component.get("DTSTART"), "dt", None)
        if impossible(rule, start):
            raise ValueError("a rule that never comes true")
        if endless(rule, start, until):
            raise TooOften


def listed(value: Any) -> list[Any]:
    """What stands under a name: nothing, one or several."""
    return cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
