"""Add the other events of the day to an order that only says the day: "Cancel my appointment tomorrow"."""

import re
from collections.abc import Mapping
from dataclasses import replace

from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.policy.cost import call_cost, singular
from contextune.plan.policy.readings import Readings
from contextune.types import Argument, Item, Plan, Source, Tool, local_time

_ORDER = re.compile(
    rf"{OPENING}(?:cancel|call off|delete|scrap|drop|remove|skip|move|push|shift|postpone|reschedule|delay"
    r"|put off|bring forward)(?: back| forward)? (?:(?:my|our|the|that) )?"
    r"(?P<before>\S+['’]s )?(?P<noun>appointment|meeting|event|thing)\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_TARGET = re.compile(r" (?:to|until|till|by) ", re.IGNORECASE)
_EMPTY = re.compile(r"\W*(?:(?:on|for|of|in|at|this|the|please|then|now)\b\W*)*", re.IGNORECASE)
_FIRST, _OTHER = 0.55, 0.4
"""Shares of a call's probability for the first event and for the others: a policy asks."""


def with_events_of_day(readings: Readings, inputs: PlanningInput, tools: Mapping[str, Tool]) -> Readings:
    """The readings with one for each event of the day, those with the said noun in their title first."""
    if not readings.plans or readings.plans[0].missing:
        return readings
    first, *others = readings.plans
    events = _meant_events(inputs) if call_cost(tools[first.tool]) != "read" else []
    name = _event_argument(first, inputs)
    if len(events) < 2 or name is None:
        return readings
    plans = [_with_event(first, name, event) for event in events]
    shares = [_FIRST, *[_OTHER] * (len(plans) - 1)]
    plans = [
        replace(plan, confidence=share * first.confidence) for plan, share in zip(plans, shares, strict=True)
    ]
    kept = [plan for plan in others if plan.tool != first.tool]
    return replace(readings, plans=(*plans, *kept))


def _meant_events(inputs: PlanningInput) -> list[Item]:
    """The events ahead of the day that an order says, if it says nothing else of its event."""
    text = inputs.request.text
    match = _ORDER.match(text)
    if match is None:
        return []
    target = _TARGET.search(text, match.start("rest"))
    end = target.start() if target else len(text)
    phrases = [phrase for phrase in inputs.time_phrases if phrase.first < end]
    rest = text[:end]
    for phrase in reversed(phrases):
        rest = f"{rest[: phrase.first]}{' ' * (phrase.last - phrase.first)}{rest[phrase.last :]}"
    today = inputs.now.date()
    said = (day for mention in inputs.times.days if mention.start < end for day in mention.dates)
    days = {day for day in said if day >= today}
    is_named = match["before"] and rest[match.start("before") : match.end("before")].strip(" '’s")
    if len(days) != 1 or any(clock.start < end for clock in inputs.times.clocks) or is_named:
        return []
    if not _EMPTY.fullmatch(rest[match.end("noun") :]):
        return []
    events: dict[str, Item] = {}
    for item in inputs.items:
        start = item.times.get("start")
        if item.app != "Calendar" or start is None:
            continue
        local = local_time(start, inputs.user.zone)
        if local.date() in days and local.replace(tzinfo=None) >= inputs.now.replace(tzinfo=None):
            events.setdefault(item.title, item)
    noun = singular(match["noun"].casefold())
    return sorted(events.values(), key=lambda event: noun not in folded_words(event.title))


def _event_argument(plan: Plan, inputs: PlanningInput) -> str | None:
    """The argument that takes the title of an event."""
    titles = {item.id: item.title for item in inputs.items if item.app == "Calendar"}
    return next(
        (
            name
            for name, argument in plan.arguments.items()
            if any(
                source.item in titles and titles[source.item] == argument.value for source in argument.sources
            )
        ),
        None,
    )


def _with_event(plan: Plan, name: str, event: Item) -> Plan:
    source = Source("item", event.id, event.schema.title)
    argument = Argument(event.title, (source,), plan.arguments[name].confidence)
    return replace(plan, arguments={**plan.arguments, name: argument})
