"""Which times a call may set: none in the past, no event's own time, and one in the part of day that is said.

"Move the dentist" does not say when to: the time of an appointment, this one or another, is no answer, and
the user is asked.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, time

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidate import Candidate
from contextune.plan.pointer.clock_halves import meant_minutes
from contextune.plan.policy.cost import call_cost
from contextune.plan.schema import Parameter
from contextune.plan.times.resolve import CandidateTime
from contextune.time_phrases import TimePhrase
from contextune.types import Item, Source, Tool, local_time

USUAL_HOUR = "usual hour"
"""The field in the source of a time whose hour the request does not say."""
_NOW = re.compile(r"\b(?:now|immediately|right away|straight ?away|at once|this minute)\b", re.IGNORECASE)
_HOURS = ((4, time(9)), (12, time(9)), (17, time(15)), (24, time(19)))
"""The hour that a day or a part of day stands for, by the hour before which it begins."""


def new_times(
    candidates: Sequence[Candidate],
    tool: Tool,
    parameter: Parameter,
    inputs: PlanningInput,
    items: frozenset[int],
) -> list[Candidate]:
    """The candidates for a time that a call sets; all candidates of other arguments.

    If the request says a day or a part of day, the time is there, and is not omitted: at a usual hour, where
    the argument is optional and no other candidate fits.

    Args:
        candidates: All candidates.
        tool: The tool to call.
        parameter: The argument.
        inputs: What is planned for.
        items: The items that the arguments filled so far come from.
    """
    if parameter.kind != "moment" or call_cost(tool) == "read":
        return list(candidates)
    roles = ("start", "due") if inputs.times.refers_to_end else ("start", "end", "due")
    own = {
        moment
        for number, item in enumerate(inputs.items)
        if number in items or item.app == tool.app
        for moment in _own_times(item, inputs, roles)
    }
    starts = (_own_times(inputs.items[number], inputs, ("start", "due")) for number in items)
    moved = {moment for times in starts for moment in times}
    left = [c for c in candidates if c.time is None or _is_new(c.time, inputs, own, moved)]
    left = _in_meant_half(left, inputs, items)
    phrase = said_span(inputs)
    if phrase is None:
        return left
    within = [c for c in left if c.time is not None and _fits(c.time, phrase, inputs)]
    if within or parameter.required:
        return within
    return [_usual_time(phrase, inputs)] if phrase.end > inputs.now else left


def has_usual_hour(candidate: Candidate) -> bool:
    """Whether its hour is a usual one, which the request does not say."""
    return any(source.field == USUAL_HOUR for source in candidate.sources)


def _own_times(item: Item, inputs: PlanningInput, roles: Sequence[str]) -> Iterator[datetime]:
    for role in roles:
        if role in item.times:
            yield local_time(item.times[role], inputs.user.zone)


def _is_new(parts: CandidateTime, inputs: PlanningInput, own: set[datetime], moved: set[datetime]) -> bool:
    """Whether a call can set a time; `moved` are the times of what it changes, `own` also of its rivals."""
    moment = parts.time
    if moment is None or parts.clock_from_request:
        return moment is None or (moment >= inputs.now and moment not in moved)
    if moment == inputs.now:
        return _NOW.search(inputs.request.text) is not None
    return moment > inputs.now and (moment not in own or abs(parts.shift) == 1)


def _in_meant_half(
    candidates: Sequence[Candidate], inputs: PlanningInput, items: frozenset[int]
) -> list[Candidate]:
    """The candidates without those in the wrong half of the day: "at three" is in the afternoon."""
    wrong = {
        minutes
        for clock in inputs.times.clocks
        if (meant := meant_minutes(clock, inputs, items)) is not None
        for minutes in clock.minutes
        if minutes != meant
    }
    wrong -= {clock.minutes[0] for clock in inputs.times.clocks if clock.certain}
    left = [
        c for c in candidates if c.time is None or not (c.time.clock_from_request and c.time.clock in wrong)
    ]
    return left if any(c.time is not None for c in left) else list(candidates)


def said_span(inputs: PlanningInput) -> TimePhrase | None:
    """The day or part of day that the request says without an hour: "on Friday evening"."""
    times = inputs.times
    if times.clocks or times.shifts or times.repeats or times.day_offsets or times.refers_to_end:
        return None
    phrases = [
        phrase
        for phrase in inputs.time_phrases
        if phrase.kind == "span" and phrase.granularity in ("day", "part of day")
    ]
    return phrases[0] if len(phrases) == len(inputs.time_phrases) == 1 else None


def _fits(parts: CandidateTime, phrase: TimePhrase, inputs: PlanningInput) -> bool:
    """Whether a time is within the phrase, and its hour is not merely that of a message or a call."""
    moment = parts.time
    if moment is None or not any(start <= moment < end for start, end in phrase.readings):
        return False
    if parts.item is None or parts.in_text:
        return parts.item is None or parts.day_from_item
    item = inputs.items[parts.item]
    return parts.field in (item.schema.times.get(role) for role in ("start", "due"))


def _usual_time(phrase: TimePhrase, inputs: PlanningInput) -> Candidate:
    """A usual hour of the part of day."""
    hour = next(hour for limit, hour in _HOURS if phrase.start.hour < limit)
    moment = max(datetime.combine(phrase.start.date(), hour), inputs.now)
    words = inputs.request.text[phrase.first : phrase.last]
    parts = CandidateTime(
        moment.date(),
        moment.hour * 60 + moment.minute,
        words=words,
        day_from_request=True,
        clock_from_request=True,
        certain=False,
    )
    source = Source("time", field=USUAL_HOUR, words=words)
    return Candidate(moment.isoformat(timespec="minutes"), "time", (source,), time=parts)
