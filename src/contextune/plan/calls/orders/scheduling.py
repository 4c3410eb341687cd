"""Orders about the calendar: to schedule something new, or to move an event or a reminder that is named."""

import re

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.item_nouns import item_app
from contextune.plan.pointer.items.item_words import shares_form
from contextune.plan.pointer.request_words import folded_words, time_words
from contextune.plan.policy.cost import singular
from contextune.search.tokenize import identifier_words
from contextune.types import Item, Tool

_MOVE = re.compile(
    rf"{OPENING}(?:move|push|shift|postpone|reschedule|delay|put off|put back|bring forward|bring|pull)"
    r"(?: back| forward| up)? (?P<what>\S.*?)(?: back| forward| off| up)? (?:to|until|till|by)\s+\S",
    re.IGNORECASE,
)
_IS_THERE = re.compile(
    rf"{OPENING}(?:is there|are there|do (?:i|we) have|have (?:i|we) got) (?:an?|any|the)?\s*(?P<what>\S.*)",
    re.IGNORECASE,
)
_CREATING = frozenset(["create", "add", "new", "schedule"])
_EVENTS = frozenset(["event", "appointment", "meeting"])


def creates_event(tool: Tool) -> bool:
    """Whether a tool makes a new event."""
    words = identifier_words(tool.name)
    return not _CREATING.isdisjoint(words[:1]) and not _EVENTS.isdisjoint(words)


def lists_events(tool: Tool) -> bool:
    """Whether a tool lists the events of a time."""
    words = identifier_words(tool.name)
    return words[:1] == ["list"] and not _EVENTS.isdisjoint(map(singular, words))


def asks_for_event(inputs: PlanningInput) -> bool:
    """Whether the request asks if an event that is stored is at a time: "Is there judo on Monday?"."""
    match = _IS_THERE.match(inputs.request.text)
    if match is None or not inputs.time_phrases:
        return False
    words = frozenset(folded_words(match["what"])) - STOP_WORDS
    words -= time_words(inputs)
    return any(shares_form(words, item.title) for item in inputs.items if "start" in item.times)


def says_day_and_hour(inputs: PlanningInput) -> bool:
    """Whether the request says when something is, to the hour."""
    times = inputs.times
    return bool(times.days) and len(times.clocks) == 1


def moved_items(inputs: PlanningInput) -> list[Item]:
    """The events and reminders of whose titles most is said where the request says to move something."""
    words = _moved_words(inputs)
    if not words or any(item_app(word) for word in words):
        return []
    shares = {
        item.id: len(words.intersection(folded_words(item.title)))
        for item in inputs.items
        if "start" in item.times or "due" in item.times
    }
    most = max(shares.values(), default=0)
    return [item for item in inputs.items if most and shares.get(item.id) == most]


def names_moved_item(inputs: PlanningInput) -> bool:
    """Whether the request names what to move by the words of one title, and says the hour or how far."""
    items, words = moved_items(inputs), _moved_words(inputs)
    if len(items) != 1 or not words <= frozenset(folded_words(items[0].title)):
        return False
    return bool(inputs.times.shifts) or len(inputs.times.clocks) == 1


def _moved_words(inputs: PlanningInput) -> frozenset[str]:
    match = _MOVE.match(inputs.request.text)
    return frozenset(folded_words(match["what"])) - STOP_WORDS if match else frozenset()
