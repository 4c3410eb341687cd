"""A reason to doubt a call because of a place: one that is said, and that no argument says."""

from contextune.plan.calls.orders.scheduling import creates_event
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.values.event_details import event_place
from contextune.plan.values import normalize_text
from contextune.types import Plan, Tool


def drops_the_place(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It creates an event without the place that the request says."""
    place = event_place(inputs) if creates_event(tool) else None
    if place is None:
        return False
    values = " ".join(normalize_text(str(value)) for value in plan.args.values())
    return normalize_text(place.text) not in values
