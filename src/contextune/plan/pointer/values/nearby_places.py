"""The place near which something is searched, in any spelling: "a café near elm street"."""

import re

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.spans import TextSpan
from contextune.search import tokenize
from contextune.types import Source

_NEAR = re.compile(
    r"\b(?:near|close to|next to|around|in)"
    r" (?P<place>[^\W\d_][\w'’.-]*(?: [\w'’.-]+){0,3}?)(?: please)?[\s.!?]*$",
    re.IGNORECASE,
)
NO_PLACE = STOP_WORDS | frozenset(tokenize("general case total fact person town bed school work advance"))
"""Words that name no place behind a preposition."""


def said_near(inputs: PlanningInput) -> list[Candidate]:
    """The place at the end of a request for something near it."""
    match = _NEAR.search(inputs.request.text)
    if match is None or not NO_PLACE.isdisjoint(tokenize(match["place"])):
        return []
    place = match["place"].rstrip(".")
    span = TextSpan(match.start("place"), match.start("place") + len(place), place, "name", "near")
    if any(phrase.first < span.end and span.start < phrase.last for phrase in inputs.time_phrases):
        return []
    return [Candidate(span.text, "said name", (Source("said", words=span.text),), span=span)]
