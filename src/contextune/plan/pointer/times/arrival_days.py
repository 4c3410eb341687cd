"""The day of a journey that a question relates to: "Will it be cold when we get to Nova Scotia?"."""

import re
from datetime import date

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.candidate import OMITTED, Candidate
from contextune.plan.schema import Parameter
from contextune.plan.times.resolve import CandidateTime
from contextune.types import Source, local_time

_ARRIVAL = re.compile(
    r"\b(?:(?:when|once|while|after|by the time) (?:i|we)"
    r"(?: (?:get|go|arrive|land|fly|come|travel|drive|head|visit|reach|stay)(?: back| over| out)?"
    r"|['’](?:re|m)| are| am)(?: to| in| at| into| up to| down to)?"
    r"|(?:during|on|for) (?:my|our|the) (?:trip|journey|visit|holiday|flight|stay|weekend) (?:to|in|at))"
    r" (?P<place>[^\W\d_][^,;.!?]*)",
    re.IGNORECASE,
)


def says_arrival(inputs: PlanningInput) -> bool:
    """Whether the request says by a journey when, and no other time."""
    return not inputs.time_phrases and _ARRIVAL.search(inputs.request.text) is not None


def arrival_day(inputs: PlanningInput, parameter: Parameter) -> list[Candidate]:
    """The day of the next event ahead that names the place of the journey; without one, no day."""
    match = _ARRIVAL.search(inputs.request.text)
    if parameter.kind != "day" or match is None or inputs.time_phrases:
        return []
    words = frozenset(folded_words(match["place"])) - STOP_WORDS
    starts: list[tuple[date, int]] = []
    for number, item in enumerate(inputs.items):
        start = item.times.get("start")
        local = local_time(start, inputs.user.zone) if start else None
        if words and local and local > inputs.now and words.intersection(folded_words(item.text)):
            starts.append((local.date(), number))
    if not starts:
        return [] if parameter.required else [Candidate(None, OMITTED)]
    day, number = min(starts)
    item = inputs.items[number]
    field = item.schema.times["start"]
    parts = CandidateTime(day, None, number, field, match.group(), day_from_item=True)
    source = Source("time", item.id, field, match.group())
    return [Candidate(day.isoformat(), f"{item.app}.{field}", (source,), number, field, time=parts)]
