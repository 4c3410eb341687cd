"""Reasons to doubt a call because of a place: one that no argument says, or that nothing stored leads to."""

from contextune.plan.calls.orders.scheduling import creates_event
from contextune.plan.calls.orders.tool_kinds import tells_hours
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.event_details import event_place
from contextune.plan.pointer.values.homes import professional_words
from contextune.plan.pointer.values.opening_hours import is_described_business, said_business
from contextune.plan.values import normalize_text
from contextune.types import Plan, Tool


def drops_the_place(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It creates an event without the place that the request says."""
    place = event_place(inputs) if creates_event(tool) else None
    if place is None:
        return False
    values = " ".join(normalize_text(str(value)) for value in plan.args.values())
    return normalize_text(place.text) not in values


def guesses_the_business(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It asks for the opening hours of what the request only describes: "Is the library open?"."""
    span = said_business(inputs) if tells_hours(tool) else None
    sources = [source for argument in plan.arguments.values() for source in argument.sources]
    is_said = all(source.kind == "said" for source in sources)
    return span is not None and is_said and is_described_business(span, inputs)


def goes_elsewhere(plan: Plan, _: Tool, inputs: PlanningInput) -> bool:
    """It leads to a place of somebody whom the request describes, and of whom nothing stored says so."""
    destination = plan.arguments.get("destination")
    words = professional_words(inputs) if destination is not None else frozenset[str]()
    if not words or destination is None or any(source.kind == "contact" for source in destination.sources):
        return False
    sources = {source.item for source in destination.sources}
    items = [item for item in inputs.items if item.id in sources]
    return not any(words.intersection(folded_words(item.text)) for item in items)
