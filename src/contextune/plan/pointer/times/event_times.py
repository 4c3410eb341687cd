"""Times relative to an event that the request names: "half an hour before the match", "once it is over"."""

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.text.reminder_orders import reminder_order
from contextune.plan.times.phrases import find_times
from contextune.time_phrases.durations import DURATION, parse_duration_words
from contextune.time_phrases.phrase import fold
from contextune.types import Item, local_time

_SIDE = re.compile(
    rf"\b(?:(?:about |around )?(?P<length>{DURATION}) |the (?P<part>day|evening|night|morning|week) "
    r"|(?P<close>right|just|straight|immediately|shortly|directly) )?"
    r"(?P<side>before|after|ahead of|prior to|following) "
    r"(?!(?:i|we|you|he|she|they|it|that|this|then|work|lunch|dinner|breakfast|supper|bed|noon)\b)"
    r"(?P<event>[^,;.!?]{0,300}?[^,;.!?\s])(?=\s*(?:$|[,;.!?]))"
)
_OVER = re.compile(
    r"\b(?:as soon as|once|when|the (?:minute|moment)|(?:right |straight )?after) (?P<event>[^,;.!?]{1,300}?)"
    r"(?:(?:'s| is| are| has| have| gets)(?: all)? (?:over|done|finished|out|through)"
    r"| (?:ends|finishes|is up))\b"
)
_GENERIC = frozenset(
    folded_words("""
    appointment meeting event thing session visit call lesson class game match practice training dinner lunch
    party show concert reminder date day time one start end beginning
    """)
)
"""Words for events that tell no event from another."""
_PARTS = {"evening": time(19), "night": time(20), "morning": time(9)}
_CLOSE, _EARLIER, _LASTING = timedelta(minutes=15), timedelta(hours=1), timedelta(hours=1)
"""How long before an event "just before" and "before" are, and how long an event without an end lasts."""
_DAY = timedelta(days=1)
_KEPT = "event time"


@dataclass(frozen=True, slots=True)
class EventTime:
    """A time relative to an item, and where the request says it."""

    start: int
    end: int
    item: int
    """The index of the item."""
    field: str
    """The item's field that the time derives from."""
    moment: datetime
    is_said: bool
    """Whether the time follows from the request and the item; otherwise its hour is a guess."""


def event_time(inputs: PlanningInput) -> EventTime | None:
    """The time of a reminder that the request says relative to an item it names; None if it does not."""
    if _KEPT not in inputs.kept:
        inputs.kept[_KEPT] = _find(inputs)
    found = inputs.kept[_KEPT]
    return found if isinstance(found, EventTime) else None


def _find(inputs: PlanningInput) -> EventTime | None:
    order = reminder_order(inputs)
    if order is None:
        return None
    low = fold(inputs.request.text)
    begin, end = order.said_when
    if begin == end:
        begin, end = order.task
    clause = low[begin:end]
    match = _OVER.search(clause) or _SIDE.search(clause)
    index = None if match is None else _named_item(match["event"], inputs)
    if match is None or index is None or find_times(clause, inputs.now).clocks:
        return None  # "the day before the match, at eight" says another hour
    resolved = _resolve(match, inputs.items[index], inputs)
    if resolved is None or resolved[1] <= inputs.now:
        return None
    field, moment, is_said = resolved
    return EventTime(begin + match.start(), begin + match.end(), index, field, moment, is_said)


def _named_item(words: str, inputs: PlanningInput) -> int | None:
    """The only item ahead whose title says most of the words, events before reminders."""
    named = frozenset(folded_words(words)) - STOP_WORDS - _GENERIC
    scores = {
        index: (len(named.intersection(folded_words(item.title))), "start" in item.times)
        for index, item in enumerate(inputs.items)
        if _latest(item, inputs) is not None
    }
    best = max(scores.values(), default=(0, False))
    fitting = [index for index, score in scores.items() if score == best]
    return fitting[0] if best[0] and len(fitting) == 1 else None


def _latest(item: Item, inputs: PlanningInput) -> datetime | None:
    """When an item ends, or else begins or is due, if that is ahead."""
    moment = item.times.get("end") or item.times.get("start") or item.times.get("due")
    if moment is None or item.fields.get("status") == "done":
        return None
    local = local_time(moment, inputs.user.zone)
    return local if local > inputs.now else None


def _resolve(match: re.Match[str], item: Item, inputs: PlanningInput) -> tuple[str, datetime, bool] | None:
    """The field that a time derives from, the time, and whether its hour is said."""
    zone, roles = inputs.user.zone, item.schema.times
    role = "start" if "start" in item.times else "due"
    start = local_time(item.times[role], zone)
    has_end = "end" in item.times
    end = local_time(item.times["end"], zone) if has_end else start + _LASTING
    groups = match.groupdict()
    side = groups.get("side") or "over"
    length = parse_duration_words(groups["length"]) if groups.get("length") else None
    part = groups.get("part")
    if side in ("over", "after", "following"):
        if part:
            moment = start + _DAY if part != "week" else start + 7 * _DAY
            return None if part in ("evening", "night") else _at_part(roles[role], moment, part)
        field = roles["end"] if has_end else roles[role]
        return field, length.add_to(end) if length else end, has_end
    if length:
        return roles[role], length.add_to(start, -1), True
    if part:
        return _at_part(roles[role], start - (7 * _DAY if part == "week" else _DAY), part)
    return roles[role], start - (_CLOSE if groups.get("close") else _EARLIER), False


def _at_part(field: str, moment: datetime, part: str) -> tuple[str, datetime, bool]:
    return field, datetime.combine(moment, _PARTS.get(part, moment.time())), False
