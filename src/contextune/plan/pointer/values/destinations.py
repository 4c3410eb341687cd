"""The place that a request for directions says: "the Mercadona in Carballo", "12 Baker Street, London"."""

import re
from typing import NamedTuple

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.names import NameMatch
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.clauses import clauses
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.spans import TextSpan
from contextune.plan.pointer.values.travel_modes import MODE_END
from contextune.search import tokenize
from contextune.types import Source

_ORDER = re.compile(
    r"\W*(?:(?:please|can you|could you|just|hey|ok(?:ay)?|now|show me|give me|get me|find me"
    r"|i need),? ){0,8}"
    r"(?:navigate|directions?|(?:take|drive|guide|bring|walk|get) me|(?:the )?(?:route|way)"
    r"|how (?:do|can) i (?:get|walk|drive|cycle)|route me) to (?:(?:the|my|our|a) )?"
    r"(?P<place>[^\W_][^:;!?]{0,300}?)"
    rf"(?:,? (?:from here|now|please|{MODE_END})){{0,8}}"
    r"[\s.!?]*$",
    re.IGNORECASE,
)
_BREAKS = frozenset(
    tokenize("by from for and with via then before after when where who my his her their next last our at it")
)
"""Words with which a phrase says more than a place, or describes it."""
_DESCRIBED = re.compile(r"['’]s? [^\W\d_A-Z][^\W_]*$")
"""Whose place it is, and not its name: "Suso's dentist", but "St Paul's Church"."""
_MAX_WORDS = 8


class DestinationWords(NamedTuple):
    """The words for the place in a request for directions, and where they begin."""

    text: str
    start: int


def destination_words(inputs: PlanningInput) -> DestinationWords | None:
    """What a request for directions says of the place; None if it is no such request."""
    match = next((match for clause in clauses(inputs) if (match := _ORDER.match(clause))), None)
    if match is None:
        return None
    place = match["place"].strip(" ,.")
    return DestinationWords(place, inputs.request.text.find(place))


def said_destination(inputs: PlanningInput) -> list[Candidate]:
    """The whole place that the request says, if it is a name, or nothing stored is called that; else none."""
    said = destination_words(inputs)
    if said is None:
        return []
    place, start = said
    words = tokenize(place)
    end = start + len(place)
    is_other = (
        not words
        or len(words) > _MAX_WORDS
        or not _BREAKS.isdisjoint(words)
        or _DESCRIBED.search(place) is not None
        or any(phrase.first < end and start < phrase.last for phrase in inputs.time_phrases)
        or any(_is_person(name, start, end) for name in inputs.names)
    )
    if is_other or (not any(char.isupper() for char in place) and _is_stored(place, inputs)):
        return []
    span = TextSpan(start, end, place, "name", "to")
    return [Candidate(place, "said name", (Source("said", words=place),), span=span)]


def _is_person(name: NameMatch, start: int, end: int) -> bool:
    """Whether a contact is named in a place; one word that is short for a name is not: "Viña del Mar"."""
    return (
        name.words > 0 and name.start < end and start < name.end and (name.words >= 1 or name.start == start)
    )


def _is_stored(place: str, inputs: PlanningInput) -> bool:
    """Whether an item, a contact or a place of the user has a word of it: "the clinic"."""
    words = frozenset(folded_words(place)) - STOP_WORDS
    contacts = (f"{contact.name} {contact.relation or ''}" for contact in inputs.user.contacts)
    texts = (
        *(item.text for item in inputs.items),
        *contacts,
        *(p.replace("_", " ") for p in inputs.user.places),
    )
    return not words or any(words.intersection(folded_words(text)) for text in texts)
