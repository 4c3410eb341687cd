"""Titles of what a call creates: whether a request refers to an item, and titles for orders that say none.

"Set an alarm for six" is no alarm about the item that happens to rank first, even if "six" is in its title.
"""

import re

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.text.reminder_orders import ORDER
from contextune.plan.pointer.times.event_times import event_time
from contextune.types import Item

REMINDER = "Reminder"
"""The title of a reminder of which the request does not say what it is about."""
_KINDS = (
    (re.compile(r"\btimer\b", re.IGNORECASE), "Timer"),
    (re.compile(r"\balarm\b", re.IGNORECASE), "Alarm"),
    (ORDER, REMINDER),
)
_POINTING = re.compile(
    r"\b(?:it|that|this|these|those|them|him|her|his|their|one|same|there|usual|again)\b"
    r"(?! (?:morning|afternoon|evening|week|month))"
    r"|\b(?:before|after|once|when|until|till|while|earlier|ahead|sooner|as soon as)\b",
    re.IGNORECASE,
)
"""Words that point at something which the request does not name."""
_VERB_AND_PRONOUN = re.compile(
    r"[^\W\d_]+(?: (?:for|about|with|up|off|in|out|on))? (?:it|that|this|them|these|those)"
    r"(?: (?:up|off|in|out|on|back|away))?\W*",
    re.IGNORECASE,
)
_ORDER_WORDS = frozenset(
    folded_words("remind reminder alarm timer set start add create make new wake nudge ping buzz tell please")
)


def refers_to(item: Item, inputs: PlanningInput) -> bool:
    """Whether a request is about an item: it names it, relates to it or points at something unnamed."""
    if (event := event_time(inputs)) is not None and inputs.items[event.item] is item:
        return True
    if not content_words(inputs).isdisjoint(folded_words(item.text)):
        return True
    text = _without_times(inputs)
    return not any(pattern.search(text) for pattern, _ in _KINDS) or _POINTING.search(text) is not None


def plain_title(inputs: PlanningInput) -> str | None:
    """The title for an order that says none: "Alarm" for "Set an alarm for six"."""
    if content_words(inputs):
        return None
    return next((title for pattern, title in _KINDS if pattern.search(inputs.request.text)), None)


def says_nothing(title: str, inputs: PlanningInput) -> bool:
    """Whether a title tells nothing: the plain one of a reminder, or the words of an order to set one."""
    text = inputs.request.text
    return title == REMINDER or (text.startswith(title) and any(kind.search(text) for kind, _ in _KINDS))


def names_nothing(title: str) -> bool:
    """Whether a title says what to do, but not with what: "Pay it"."""
    return _VERB_AND_PRONOUN.fullmatch(title) is not None


def content_words(inputs: PlanningInput) -> frozenset[str]:
    """The words of a request that say what it is about: no times, no numbers, and no order to remind."""
    words = frozenset(folded_words(_without_times(inputs))) - STOP_WORDS - _ORDER_WORDS
    return frozenset(word for word in words if not word.isdigit())


def _without_times(inputs: PlanningInput) -> str:
    text = inputs.request.text
    times = [(phrase.first, phrase.last) for phrase in inputs.time_phrases]
    times += [(clock.start, clock.end) for clock in inputs.times.clocks]
    for first, last in times:
        text = f"{text[:first]}{' ' * (last - first)}{text[last:]}"
    return text
