"""Orders about the calendar: to schedule something new, or to move an event or a reminder that is named."""

import re

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.calls.orders.actions import FILLER
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.item_nouns import item_app
from contextune.plan.pointer.items.item_words import shares_form
from contextune.plan.pointer.request_words import folded_words, time_words
from contextune.plan.policy.cost import singular
from contextune.search.tokenize import identifier_words
from contextune.types import Item, Tool

_NEW = r"(?!(?:the|my|our|that|this|these|those|it|his|her|their|all|every)\b)"
_CLEAR = re.compile(rf"{FILLER}(?:schedule|pencil in)\b", re.IGNORECASE)
_KIND = r"(?:appointment|meeting|event)\b"
_SCHEDULE = re.compile(
    rf"{FILLER}(?:schedule|pencil in|plan|set up|arrange|book|(?:make|create|add)(?= an? (?:new )?{_KIND}))"
    rf" {_NEW}(?P<what>\S.*)"
    rf"|{FILLER}(?:put|add|enter|pencil|block) (?P<entered>\S.*?) (?:in|into|to|on) (?:my|the|our)"
    r" (?:calendar|diary|agenda)\b.*",
    re.IGNORECASE,
)
_BLOCK = re.compile(rf"{FILLER}block(?: out| off)? (?:(?:the|my|our|on) )?", re.IGNORECASE)
_MEETING = re.compile(
    r"\b(?:meeting|appointment|call|lunch|dinner|breakfast|brunch|coffee|drinks|session|visit|event)\b",
    re.IGNORECASE,
)
_OTHER_THINGS = re.compile(
    r"\b(?:e-?mails?|mails?|messages?|texts?|reminders?|alarms?|timers?|posts?|playlists?|routes?|notes?|lists?"
    r"|tables?|flights?|hotels?|rooms?|taxis?|cabs?|tickets?|rides?|trains?|seats?|cars?)\b",
    re.IGNORECASE,
)
"""What is scheduled or booked, and no event."""
_MOVE = re.compile(
    rf"{FILLER}(?:move|push|shift|postpone|reschedule|delay|put off|put back|bring forward|bring|pull)"
    r"(?: back| forward| up)? (?P<what>\S.*?)(?: back| forward| off| up)? (?:to|until|till|by)\s+\S",
    re.IGNORECASE,
)
_IS_THERE = re.compile(
    rf"{FILLER}(?:is there|are there|do (?:i|we) have|have (?:i|we) got) (?:an?|any|the)?\s*(?P<what>\S.*)",
    re.IGNORECASE,
)
_CREATING = frozenset(["create", "add", "new", "schedule"])
_EVENTS = frozenset(["event", "appointment", "meeting"])


def creates_event(tool: Tool) -> bool:
    """Whether a tool makes a new event."""
    words = identifier_words(tool.name)
    return not _CREATING.isdisjoint(words[:1]) and not _EVENTS.isdisjoint(words)


def orders_event(inputs: PlanningInput) -> bool:
    """Whether the request says to schedule something new: "Schedule coffee with Ana next month"."""
    block = _BLOCK.match(inputs.request.text)
    if block and any(phrase.first <= block.end() < phrase.last for phrase in inputs.time_phrases):
        return True
    match = _SCHEDULE.match(inputs.request.text)
    if match is None or _OTHER_THINGS.search(match["what"] or match["entered"]):
        return False
    return (
        match["entered"] is not None
        or bool(inputs.time_phrases)
        or _CLEAR.match(inputs.request.text) is not None
        or _MEETING.search(match["what"]) is not None
    )


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
