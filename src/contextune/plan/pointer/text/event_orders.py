"""Orders for a new event: the verbs, and whether a request is one.

"Schedule", "book in" and "pencil in" need nothing else; to "make" or "add" something is to plan an event only
if that is called one, or goes into the calendar.
"""

import re

from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput

_PLANNING = r"(?:schedule|pencil in|book in|plan|organi[sz]e|set up|arrange|book)"
_MAKING = r"(?:make|create|add|enter|put in)"
_NEW = r"(?:an?|another|some|one more|new)"
_KIND = r"(?:appointment|meeting|event|entry)"
_CALENDAR = r"(?:calendar|diary|agenda)"
_DEFINITE = r"(?!(?:the|my|our|that|this|these|those|it|his|her|their|all|every)\b)"
EVENT_VERB = re.compile(
    rf"(?:{_PLANNING}|{_MAKING}|put|pencil|block(?: out| off)?)\s+(?:(?:me|us)\s+(?:in\s+)?(?:for\s+)?)?",
    re.IGNORECASE,
)
"""The verb of an order for a new event, which its name follows."""
EVENT_LABEL = re.compile(
    rf"(?:(?:{_MAKING}|put|set up|schedule)(?: me)?(?: an?| the)? )?(?:new )?(?:calendar )?{_KIND}"
    rf"(?: in (?:my|the) {_CALENDAR})?:\s+",
    re.IGNORECASE,
)
"""A label before the name of a new event: "New event: …"."""
_CLEAR = re.compile(rf"{OPENING}(?:schedule|pencil in|book in)\b", re.IGNORECASE)
_ORDER = re.compile(
    rf"{OPENING}(?:{_PLANNING}|(?:make|create|add)(?= an? (?:new )?{_KIND}\b)) {_DEFINITE}(?P<what>\S.*)"
    rf"|{OPENING}(?:put|add|enter|pencil|block) (?P<entered>\S.*?) (?:in|into|to|on) (?:my|the|our)"
    rf" {_CALENDAR}\b.*",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"{OPENING}(?:i have to )?(?:{_PLANNING}(?: me| us)?(?: in)?|{_MAKING}(?: me| us)?(?: in)? {_NEW})"
    r" [^,;.:!?]+[\s.!?]*",
    re.IGNORECASE,
)
_BLOCK = re.compile(rf"{OPENING}block(?: out| off)? (?:(?:the|my|our|on) )?", re.IGNORECASE)
_MEETING = re.compile(
    r"\b(?:meeting|appointment|call|lunch|dinner|breakfast|brunch|coffee|drinks|session|visit|event"
    r"|with (?:my |our )?[^\W\d_]+)\b",
    re.IGNORECASE,
)
_OTHER_THINGS = re.compile(
    r"\b(?:e-?mails?|mails?|messages?|texts?|reminders?|alarms?|timers?|posts?|playlists?|routes?|notes?|lists?"
    r"|tables?|flights?|hotels?|rooms?|taxis?|cabs?|tickets?|rides?|trains?|seats?|cars?)\b",
    re.IGNORECASE,
)
"""What is scheduled or booked, and no event."""


def orders_event(inputs: PlanningInput) -> bool:
    """Whether the request says to schedule something new: "Schedule coffee with Ana next month"."""
    text = inputs.request.text
    block = _BLOCK.match(text)
    if block and any(phrase.first <= block.end() < phrase.last for phrase in inputs.time_phrases):
        return True
    match = _ORDER.match(text)
    if match is None or _OTHER_THINGS.search(match["what"] or match["entered"]):
        return False
    return (
        match["entered"] is not None
        or bool(inputs.time_phrases)
        or _CLEAR.match(text) is not None
        or _MEETING.search(match["what"]) is not None
    )


def is_bare_order(text: str) -> bool:
    """Whether a text is no more than an order for something new, in one clause: "Book coffee with Ana"."""
    return _BARE.fullmatch(text) is not None
