"""Who waits if the user is late: "I'm running late" is for the people of the event that is about to start."""

import re
from datetime import timedelta

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.opening_words import PLEASE
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words, time_words
from contextune.types import Item, local_time

_LENGTH = (
    r"(?:quite|very|so|rather|a (?:bit|little|few minutes)|(?:about |around )?"
    r"(?:half an hour|an hour|a quarter of an hour|[\w-]+ (?:minutes?|mins?|hours?)))"
)
_LATE = re.compile(
    rf"{PLEASE}(?:(?:oh|ah|damn|sorry|oops)\W+)*"
    r"(?:(?:i|we)(?:['’]?(?:m|re|ll)| am| are| will| might| may)(?: probably| going to| gonna)?"
    r"(?: be| running| get there)*"
    rf"|running) (?:{_LENGTH} )?(?:late|behind|delayed|held up)"
    r"(?: (?:for|to) (?P<event>[^\s,;][^,;]*?))?[\s.!?]*$",
    re.IGNORECASE,
)
_BEGUN, _SOON = timedelta(hours=1), timedelta(hours=3)
"""How long ago an event for which somebody is late has begun at most, and how far ahead it is."""


def says_late(text: str) -> bool:
    """Whether a request says that the user will be late, and not what to do about it."""
    return _LATE.match(text) is not None


def waiting_people(inputs: PlanningInput) -> frozenset[int]:
    """The contacts of the event for which the user says to be late; empty if none is stored."""
    event = _event(inputs)
    people = map(inputs.people.index, event.people) if event else ()
    return frozenset(person for person in people if person is not None)


def _event(inputs: PlanningInput) -> Item | None:
    """The event that is named, or a message about it; else the first event that is about to start."""
    match = _LATE.match(inputs.request.text)
    words = frozenset(folded_words(match["event"] or "")) - STOP_WORDS if match else frozenset[str]()
    words -= time_words(inputs)
    starts = [
        (local_time(hit.item.times["start"], inputs.user.zone).replace(tzinfo=None), hit.item)
        for hit in inputs.hits
        if "start" in hit.item.times
    ]
    ahead = sorted((row for row in starts if row[0] >= inputs.now - _BEGUN), key=lambda row: row[0])
    if words:
        others = [(inputs.now, hit.item) for hit in inputs.hits if "start" not in hit.item.times]
        ahead = [row for row in (*ahead, *others) if words.issubset(folded_words(row[1].title))]
    elif not inputs.time_phrases:
        ahead = [row for row in ahead if row[0] <= inputs.now + _SOON]
    return ahead[0][1] if ahead and match else None
