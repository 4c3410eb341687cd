"""Questions for what comes next in the calendar: "What's up next?"."""

import re

from contextune.plan.opening_words import PLEASE
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.schema import Parameter
from contextune.plan.times.resolve import CandidateTime
from contextune.search import tokenize
from contextune.types import Source, local_time

_NEXT = re.compile(
    rf"{PLEASE}(?:tell me )?what(?:['’]?s| is| comes| do (?:i|we) have| have (?:i|we) got)"
    r"(?: up| on| coming)?(?: up)? next(?: up)?(?: for me| today"
    r"| (?:on|in) (?:my|the|our) (?:calendar|diary|agenda|schedule))*[\s.!?]*$",
    re.IGNORECASE,
)
_LISTENING = frozenset(
    tokenize("play music song songs track album playlist artist band radio listen listening queue")
)


def asks_what_is_next(inputs: PlanningInput) -> bool:
    """Whether the request asks for the next events: not after a turn about music, where it may be a song."""
    if _NEXT.match(inputs.request.text) is None or not _LISTENING.isdisjoint(inputs.tokens):
        return False
    before = [turn.text for turn in inputs.request.history if turn.speaker == "user"][-1:]
    return _LISTENING.isdisjoint(tokenize(" ".join(before)))


def next_day(inputs: PlanningInput, parameter: Parameter) -> list[Candidate]:
    """The day of the next event, if the request asks what is next; today if no event lies ahead."""
    if parameter.kind != "day" or not asks_what_is_next(inputs):
        return []
    starts = [
        (local_time(item.times["start"], inputs.user.zone), number)
        for number, item in enumerate(inputs.items)
        if "start" in item.times
    ]
    ahead = [(start, number) for start, number in starts if start.replace(tzinfo=None) >= inputs.now]
    start, number = min(ahead, default=(inputs.now, None))
    if number is None:
        today = CandidateTime(start.date(), None)
        return [Candidate(start.date().isoformat(), "time", (Source("time"),), time=today)]
    item = inputs.items[number]
    field = item.schema.times.get("start") or ""
    time = CandidateTime(start.date(), None, number, field, day_from_item=True)
    source = Source("time", item.id, field)
    return [Candidate(start.date().isoformat(), f"{item.app}.{field}", (source,), number, field, time=time)]
