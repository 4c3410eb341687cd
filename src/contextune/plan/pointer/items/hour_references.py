"""Events that a request names by their hour: "Cancel my 3 o'clock", "Move the nine thirty to noon"."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import cast

from contextune.plan.planning_input import PlanningInput
from contextune.types import local_time

_ORDER = re.compile(
    r"\W*(?:(?:please|can you|could you|just),? )*"
    r"(?:cancel|call off|delete|scrap|drop|remove|skip|move|push|shift|bring|postpone|reschedule|delay"
    r"|put off)(?: back| forward| up)?"
    r" (?:my|our|the|today['’]s|tomorrow['’]s|this (?:morning|afternoon|evening)['’]s) ",
    re.IGNORECASE,
)
_TARGET = re.compile(r" (?:to|until|till|by|for) ", re.IGNORECASE)
_MINUTES = 60
_KEPT = "events by hour"


def events_at_said_hour(inputs: PlanningInput) -> frozenset[int]:
    """The next events, by their indexes, that begin at the hour which stands for them; empty if none does."""
    if _KEPT not in inputs.kept:
        inputs.kept[_KEPT] = frozenset(_find(inputs))
    return cast("frozenset[int]", inputs.kept[_KEPT])


def _find(inputs: PlanningInput) -> Iterator[int]:
    text, times = inputs.request.text, inputs.times
    order = _ORDER.match(text)
    clock = next((clock for clock in times.clocks if order and clock.start == order.end()), None)
    if clock is None:
        return
    target = _TARGET.search(text, clock.end)
    end = target.start() if target else len(text)
    days = {day for mention in times.days if mention.start < end for day in mention.dates}
    starts: dict[int, datetime] = {}
    for number, item in enumerate(inputs.items):
        if "start" not in item.times:
            continue
        start = local_time(item.times["start"], inputs.user.zone).replace(tzinfo=None)
        is_ahead = start >= inputs.now.replace(tzinfo=None)
        if (
            is_ahead
            and start.hour * _MINUTES + start.minute in clock.minutes
            and (not days or start.date() in days)
        ):
            starts[number] = start
    first = min((start.date() for start in starts.values()), default=None)
    yield from (number for number, start in starts.items() if start.date() == first)
