"""Reasons to doubt a call because of a time: one that is said and not set, or set and not said."""

import re
from collections.abc import Iterator
from datetime import datetime

from contextune.context.history import day_of_history
from contextune.plan.calls.used_data import used_ids, used_items
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.text.reminder_orders import reminder_order
from contextune.plan.pointer.times.arrival_days import arrival_day, says_arrival
from contextune.plan.pointer.times.event_times import event_time
from contextune.plan.pointer.times.new_times import (
    USUAL_HOUR,
    fits_phrase,
    said_phrases,
    said_span,
    says_no_time,
)
from contextune.plan.policy.cost import call_cost
from contextune.plan.schema import tool_parameters
from contextune.search import tokenize
from contextune.time_phrases import TimePhrase
from contextune.types import Plan, Tool, local_time

_TODAY = re.compile(r"\b(?:today|tonight|now|this|next)\b", re.IGNORECASE)
_NUMERIC = re.compile(
    r"\b(?:at|on|by|until|till|before|after|around)\s+(?P<time>\d{1,2}[:.h]\d\d|\d{1,2}/\d{1,2}|\d{3,4})\b(?!\s*[€$£%])"
)
"""Digits that are meant as a time, whether or not there is such a time: "at 25:00"."""
_EMPTY = frozenset(tokenize("please up me the a an at on in by about around just only again maybe then and"))
_REPEATS = frozenset(["repeat", "repeats", "recurrence", "frequency", "rrule", "interval", "recurring"])
_MIN_CONFIDENCE = 0.5


def guesses_the_hour(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It sets an hour that the request does not say, and that no item which it moves has."""
    if call_cost(tool) == "read":
        return False
    sources = [source for argument in plan.arguments.values() for source in argument.sources]
    times = [source for source in sources if source.kind == "time"]
    if any(source.field == USUAL_HOUR for source in times):
        return True
    moved = used_ids(plan)
    is_unsaid = any(source.item is not None and source.item not in moved for source in times)
    order = reminder_order(inputs)
    is_open = order is not None and order.has_task and says_no_time(inputs)
    return is_unsaid and (is_open or said_span(inputs) is not None)


def guesses_the_week(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It sets a time on the weekday that is said, which is today's: today or in a week."""
    if call_cost(tool) == "read" or _TODAY.search(inputs.request.text):
        return False
    today = inputs.now.date()
    open_days = [day for day in inputs.times.days if len(day.dates) > 1 and today in day.dates]
    times = [source for argument in plan.arguments.values() for source in argument.sources]
    return bool(open_days) and any(
        source.kind == "time" and open_days[0].words.casefold() in source.words.casefold() for source in times
    )


def guesses_the_arrival(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It asks for some day, where the request says by a journey when, and no stored event tells its day."""
    days = [parameter for parameter in tool_parameters(tool) if parameter.kind == "day"]
    if not days or not says_arrival(inputs):
        return False
    return not any(arrival_day(inputs, parameter) for parameter in days if parameter.name in plan.arguments)


def leaves_the_day(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It changes an event of another day than the one that the conversation is about."""
    if call_cost(tool) == "read":
        return False
    day = day_of_history(inputs.request, inputs.now)
    starts = [
        local_time(item.times["start"], inputs.user.zone).date()
        for item in used_items(plan, inputs)
        if "start" in item.times
    ]
    return day is not None and any(
        all(start != first.date() for first, _ in day.readings) for start in starts
    )


def drops_the_time(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It sets no time or another one, though the request says when; or once, what is to be repeated."""
    parameters = tool_parameters(tool)
    times = [parameter for parameter in parameters if parameter.kind in ("moment", "day")]
    if call_cost(tool) == "read" or not times:
        return False
    if event_time(inputs) is not None:
        return False
    values = [str(plan.arguments[p.name].value) for p in times if p.name in plan.arguments]
    taken = [
        str(argument.value).casefold()
        for name, argument in plan.arguments.items()
        if name not in {p.name for p in times}
    ]
    phrases = [
        phrase
        for phrase in said_phrases(inputs)
        if phrase.confidence >= _MIN_CONFIDENCE
        and phrase.direction != "past"
        and not any(phrase.text.casefold() in text for text in taken)
    ]
    once = [phrase for phrase in phrases if phrase.kind != "recurrence"]
    if phrases and not once and not any(_REPEATS.intersection(parameter.words) for parameter in parameters):
        return True
    if any(words not in text for words in _unread(inputs) for text in taken or [""]):
        return True
    if not values or not once:
        return bool(once)
    said = inputs.times
    if said.shifts or said.day_offsets or said.repeats:  # relative to an item
        return False
    return not any(_fits(value, phrase) for value in values for phrase in once)


def _fits(value: str, phrase: TimePhrase) -> bool:
    moment = datetime.fromisoformat(value).replace(tzinfo=phrase.start.tzinfo)
    if len(value) <= len("2024-05-16"):
        return any(start.date() <= moment.date() <= end.date() for start, end in phrase.readings)
    if phrase.form in ("clock", "bare part") and phrase.kind == "point":  # the day may be an item's
        return any(
            fits_phrase(moment.replace(year=start.year, month=start.month, day=start.day), phrase)
            for start, _ in phrase.readings
        )
    return fits_phrase(moment, phrase)


def _unread(inputs: PlanningInput) -> Iterator[str]:
    """Words that say when, and that no parser reads: digits, and what precedes the task of a reminder."""
    text = inputs.request.text
    ranges = [(phrase.first, phrase.last) for phrase in inputs.time_phrases]
    ranges += [(clock.start, clock.end) for clock in inputs.times.clocks]
    for match in _NUMERIC.finditer(text):
        start, end = match.span("time")
        if not any(first < end and start < last for first, last in ranges):
            yield match["time"].casefold()
    order = reminder_order(inputs)
    if order is None or not order.has_task:
        return
    begin, end = order.said_when
    for first, last in sorted(ranges, reverse=True):
        if begin <= first and last <= end:
            text = f"{text[:first]}{' ' * (last - first)}{text[last:]}"
    times = inputs.times
    if not (times.shifts or times.day_offsets) and frozenset(tokenize(text[begin:end])) - _EMPTY:
        yield inputs.request.text[begin:end].casefold()
