"""Where a new event takes place, as the request says it."""

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.text.dictation import event_to_plan
from contextune.plan.pointer.text.event_places import EventPlace, said_place
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.online_places import is_online
from contextune.plan.pointer.values.spans import TextSpan
from contextune.plan.schema import Parameter
from contextune.plan.values import normalize_text
from contextune.types import Source

_LOCATIONS = frozenset(["location", "place", "venue", "where"])


def event_place(inputs: PlanningInput) -> EventPlace | None:
    """The place of the event that the request says to create; None if it says none."""
    place = said_place(inputs)
    return place if place is not None and event_to_plan(inputs) is not None else None


def said_location(inputs: PlanningInput, parameter: Parameter) -> list[Candidate]:
    """The place of a new event, as stored if an event was there; none for other arguments."""
    if parameter.kind != "text" or _LOCATIONS.isdisjoint(parameter.words):
        return []
    place = event_place(inputs)
    if place is None or is_online(place.text):
        return []
    known = (str(item.fields.get("location") or "") for item in inputs.items)
    same = (name for name in known if normalize_text(name) == normalize_text(place.text))
    span = TextSpan(place.start, place.end, place.text, "name", "at")
    source = Source("said", words=place.text)
    return [Candidate(next(same, place.text), "said name", (source,), span=span)]
