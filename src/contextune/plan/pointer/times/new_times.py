"""Which times a call may set: none in the past, no event's own time, and one in the part of day that is said.

"Move the dentist" does not say when to: the time of an appointment, this one or another, is no answer, and
the user is asked.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta

from contextune.context.history import day_of_history
from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.text.event_orders import is_bare_order
from contextune.plan.pointer.text.new_titles import content_words
from contextune.plan.pointer.text.reminder_orders import reminder_order
from contextune.plan.pointer.times.clock_halves import meant_minutes
from contextune.plan.pointer.times.event_times import EventTime, event_time
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.policy.cost import call_cost
from contextune.plan.schema import Parameter
from contextune.plan.times.phrases import TimeExpressions, find_times
from contextune.plan.times.resolve import CandidateTime
from contextune.time_phrases import TimePhrase
from contextune.time_phrases.durations import DURATION
from contextune.types import Item, Source, Tool, local_time

USUAL_HOUR = "usual hour"
"""The field in the source of a time whose hour the request does not say."""
_NOW = re.compile(r"\b(?:now|immediately|right away|straight ?away|at once|this minute)\b", re.IGNORECASE)
_HOURS = ((12, time(9)), (17, time(15)), (20, time(19)), (24, time(22)))
"""The hour that a day or a part of day stands for, by the hour before which it begins."""
_LAST = re.compile(r"(?:at )?(?:the )?end of\b", re.IGNORECASE)
_BY = re.compile(rf"\bby (?:about |another )?{DURATION}", re.IGNORECASE)
"""How much later or earlier than it is an event is to be."""
_MOVED = re.compile(
    rf"{OPENING}(?:i have to )?(?:reschedule|move|postpone|shift|push(?: back)?|delay|rearrange|put off"
    r"|change) [^,;.:!?]+[\s.!?]*",
    re.IGNORECASE,
)
_WITH = re.compile(r"\b(?:with|for) (?:my|our|his|her|their|the) \w+", re.IGNORECASE)
_SAYS_WHEN = re.compile(
    r"\b(?:to|until|till|as|like|because|so|when|where|after|before|instead|sa(?:ys?|id)|wrote|writes|suggest\w*"
    r"|propos\w*|ask\w*|offer\w*|want\w*|around)\b",
    re.IGNORECASE,
)
"""Words that lead to a time which the request itself does not say."""
_POINTS = re.compile(r"\b(?:that|this|these|those|it|there|his|her|their|same|one)\b", re.IGNORECASE)
_TIMER = re.compile(r"\b(?:timer|alarm|wake me)\b", re.IGNORECASE)
_DAY, _MINUTE = timedelta(days=1), timedelta(minutes=1)


def new_times(
    candidates: Sequence[Candidate],
    tool: Tool,
    parameter: Parameter,
    inputs: PlanningInput,
    items: frozenset[int],
) -> list[Candidate]:
    """The candidates for a time that a call sets; all candidates of other arguments.

    A time that the request says is the time: relative to an event it names, a day or a part of day. Where it
    says no hour, the argument is optional, and no other candidate fits, a usual hour is proposed.

    Args:
        candidates: All candidates.
        tool: The tool to call.
        parameter: The argument.
        inputs: What is planned for.
        items: The items that the arguments filled so far come from.
    """
    if parameter.kind != "moment" or call_cost(tool) == "read":
        return list(candidates)
    if (event := event_time(inputs)) is not None:
        return [_event_candidate(event, inputs)]
    if parameter.required and leaves_time_open(inputs):
        return []
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
    left = _on_day_of_history(_in_meant_half(left, inputs, items), inputs, moved)
    if items and _BY.search(inputs.request.text):
        left = [c for c in left if c.item in items and c.time and (c.time.shift or c.time.day_offset)] or left
    phrase = said_span(inputs)
    order = reminder_order(inputs)
    if phrase is None:
        left = _said_moments(left, inputs) or left
        return [c for c in left if not _is_unsaid(c, inputs)] if order and order.has_task else left
    within = [c for c in left if c.time is not None and _fits(c.time, phrase, inputs)]
    if order is not None and order.has_task:  # no item lends its hour to a task that is said
        within = []
    if within or parameter.required:
        return within
    return [_usual_time(phrase, inputs)] if phrase.end > inputs.now else left


def says_no_time(inputs: PlanningInput) -> bool:
    """Whether no word of the request says when, by itself or relative to an item."""
    is_said = bool(inputs.time_phrases or inputs.times.days or _says_more(inputs.times))
    return not is_said and event_time(inputs) is None


def leaves_time_open(inputs: PlanningInput) -> bool:
    """Whether an order for a new event, or to move one, is no more than that: "Book a call with Ana".

    The time of an item that shares a word with it is no answer to when.
    """
    text = inputs.request.text
    if not says_no_time(inputs) or _SAYS_WHEN.search(text):
        return False
    is_new = is_bare_order(text) and _POINTS.search(_WITH.sub("", text)) is None
    return is_new or _MOVED.fullmatch(text) is not None


def said_phrases(inputs: PlanningInput) -> list[TimePhrase]:
    """The time phrases of the request that may say when a call's time is: not those within a task."""
    order = reminder_order(inputs)
    phrases = [phrase for phrase in inputs.time_phrases if phrase.kind != "duration"]
    if order is None or not order.has_task:
        return phrases
    first, last = order.task
    return [
        phrase
        for phrase in phrases
        if not first <= phrase.first < phrase.last <= last
        or (_ends(phrase, inputs) and not order.keeps_times)
    ]


def _beside(inputs: PlanningInput) -> TimeExpressions:
    """The time expressions of a request beside its time phrases and the task of a reminder."""
    text, order = inputs.request.text, reminder_order(inputs)
    ranges = [(phrase.first, phrase.last) for phrase in (*said_phrases(inputs), *_timers(inputs))]
    for first, last in [*ranges, *([order.task] if order else [])]:
        text = f"{text[:first]}{' ' * (last - first)}{text[last:]}"
    return find_times(text, inputs.now)


def _says_more(times: TimeExpressions) -> bool:
    return bool(times.clocks or times.shifts or times.repeats or times.day_offsets or times.refers_to_end)


def _timers(inputs: PlanningInput) -> list[TimePhrase]:
    """What a timer is set for, as a moment: "for ten minutes" is in ten minutes."""
    if not _TIMER.search(inputs.request.text):
        return []
    return [
        replace(phrase, start=phrase.end, end=phrase.end + _MINUTE, kind="point", alternatives=())
        for phrase in inputs.time_phrases
        if phrase.kind == "duration"
    ]


def _ends(phrase: TimePhrase, inputs: PlanningInput) -> bool:
    """Whether nothing but other time phrases follows a phrase."""
    text = inputs.request.text
    for later in inputs.time_phrases:
        if later.first >= phrase.last:
            text = f"{text[: later.first]}{' ' * (later.last - later.first)}{text[later.last :]}"
    return not text[phrase.last :].strip(" ,.!?")


def _said_moments(candidates: Sequence[Candidate], inputs: PlanningInput) -> list[Candidate]:
    """The candidates at a time that an order to be reminded says by itself: "in an hour", "at six"."""
    order = reminder_order(inputs)
    if order is None or _says_more(_beside(inputs)):
        return []
    phrases = [*said_phrases(inputs), *_timers(inputs)]
    phrases = [phrase for phrase in phrases if phrase.last <= order.said_when[1]] or phrases
    if len(phrases) != 1 or (inputs.times.day_offsets and phrases[0].form != "ahead"):
        return []  # "the Friday before the deadline, at ten"
    phrases = [
        phrase
        for phrase in phrases
        if phrase.kind != "recurrence" and phrase.granularity in ("minute", "hour") and not phrase.bound
    ]
    return [
        candidate
        for candidate in candidates
        if candidate.time is not None
        and (moment := candidate.time.time) is not None
        and any(fits_phrase(moment, phrase) for phrase in phrases)
    ]


def _is_unsaid(candidate: Candidate, inputs: PlanningInput) -> bool:
    """Whether it is the time of an item that a reminder has nothing to do with: "Remind me to buy milk"."""
    if candidate.item is None or said_phrases(inputs) or _says_more(inputs.times):
        return False
    if candidate.time is not None and candidate.time.in_text:  # "We are open until six" is no time to do it
        return True
    return content_words(inputs).isdisjoint(folded_words(inputs.items[candidate.item].text))


def fits_phrase(moment: datetime, phrase: TimePhrase) -> bool:
    """Whether a time is one that a phrase may mean; for "by" and "before", one that is not later."""
    if phrase.bound in ("by", "before", "until"):
        return any(moment <= end for _, end in phrase.readings)
    return any(start <= moment < end for start, end in phrase.readings)


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


def _on_day_of_history(
    candidates: Sequence[Candidate], inputs: PlanningInput, moved: set[datetime]
) -> list[Candidate]:
    """The candidates on the day that the conversation is about, if what the call moves is on that day."""
    phrase = day_of_history(inputs.request, inputs.now)
    days = {start.date() for start, _ in phrase.readings} if phrase else set[date]()
    days &= {moment.date() for moment in moved}
    return [c for c in candidates if c.time is not None and c.time.day in days] or list(candidates)


def said_span(inputs: PlanningInput) -> TimePhrase | None:
    """The day or part of day that the request says without an hour: "on Friday evening".

    In an order to be reminded, also a longer period, or a number of days: "next month", "in two weeks".
    """
    phrases, order = said_phrases(inputs), reminder_order(inputs)
    if _says_more(_beside(inputs) if order and order.has_task else inputs.times):
        return None
    spans = [
        phrase
        for phrase in phrases
        if phrase.kind == "span"
        and phrase.granularity not in ("minute", "hour")
        and (order is not None or phrase.granularity in ("day", "part of day"))
    ]
    return spans[0] if len(spans) == len(phrases) == 1 else None


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
    """A usual hour of the day or part of day; of a longer period, of its first or last day."""
    start = phrase.start
    if phrase.bound in ("by", "before", "until") or _LAST.match(phrase.text):
        start = datetime.combine(phrase.end - _MINUTE, time())
    elif phrase.form == "ahead":
        start = phrase.anchor
    elif phrase.granularity not in ("day", "part of day") and start <= inputs.now:
        start = datetime.combine(inputs.now + _DAY, time())
    hour = next(hour for limit, hour in _HOURS if start.hour < limit)
    moment = max(datetime.combine(start.date(), hour), inputs.now)
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


def _event_candidate(event: EventTime, inputs: PlanningInput) -> Candidate:
    """The time relative to an event that the request names."""
    item, moment = inputs.items[event.item], event.moment
    words = inputs.request.text[event.start : event.end]
    start = item.times.get("start") or item.times.get("due")
    clock = local_time(start, inputs.user.zone) if start else moment
    parts = CandidateTime(
        moment.date(),
        moment.hour * 60 + moment.minute,
        event.item,
        event.field,
        words,
        shift=1 if moment > clock else -1,
        day_from_item=True,
        clock_from_item=event.is_said,
        item_clock=clock.hour * 60 + clock.minute,
    )
    source = Source("time", item.id, event.field if event.is_said else USUAL_HOUR, words)
    origin = f"{item.app}.{event.field}"
    value = moment.isoformat(timespec="minutes")
    return Candidate(value, origin, (source,), event.item, event.field, time=parts)
