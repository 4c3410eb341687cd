"""Where a question about the weather asks for: a place in any spelling, else the user's city."""

import re
from collections.abc import Sequence

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.nearby_places import NO_PLACE
from contextune.plan.pointer.values.spans import TextSpan
from contextune.search import tokenize
from contextune.types import Source

_WEATHER = frozenset(
    tokenize("""
    weather forecast rain raining rainy snow snowing snowy sun sunny wind windy storm stormy umbrella raincoat
    temperature hot cold warm freeze freezing frost coat jacket scarf gloves
    """)
)
_PLAIN = frozenset(
    tokenize("""
    a an any is it s will be going to gonna the what how do does i need for on like please tell me show give
    my and so today tonight tomorrow get getting we should take this of in at outside ll whats hows are
    wonder wondering know if whether might may could would think want later now right out have doing looking
    """)
)
"""Words that say nothing about where."""
_TIME = "|"
"""Stands for each character of a time."""
_PLACE = re.compile(
    r"(?<=[\s|])(?P<before>in|near|around|at|for) (?P<place>[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,3}?)"
    r"(?=(?: (?:like|please|looking|going to be|be))*\s*(?:$|[|,;.!?]))",
    re.IGNORECASE,
)
_CERTAIN = frozenset(["in", "near", "around"])
"""Prepositions before a place; after "at" and "for" may be an occasion: "for dinner"."""


def asks_for_weather(inputs: PlanningInput) -> bool:
    """Whether a word of the request is about the weather."""
    return not _WEATHER.isdisjoint(inputs.tokens)


def weather_place(inputs: PlanningInput, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The place that a question about the weather says, in any spelling, or the city if it says nothing."""
    return _said(inputs) or _city(inputs, candidates)


def _said(inputs: PlanningInput) -> list[Candidate]:
    """The only place after a preposition, without capitals: "will it rain tomorrow in leeds"."""
    if not asks_for_weather(inputs):
        return []
    text = inputs.request.text
    masked = text
    for phrase in inputs.time_phrases:
        masked = f"{masked[: phrase.first]}{_TIME * (phrase.last - phrase.first)}{masked[phrase.last :]}"
    places = [
        TextSpan(*match.span("place"), match["place"], "name", match["before"].casefold())
        for match in _PLACE.finditer(masked)
        if NO_PLACE.isdisjoint(tokenize(match["place"])) and _WEATHER.isdisjoint(tokenize(match["place"]))
    ]
    # a company is called like its town, but nobody asks for the weather in a person
    places = [
        span
        for span in places
        if span.before in _CERTAIN or (_is_stored(span.text, inputs) and not _is_person(span, inputs))
    ]
    if len(places) != 1:
        return []
    source = Source("said", words=places[0].text)
    return [Candidate(places[0].text, "said name", (source,), span=places[0])]


def _is_person(span: TextSpan, inputs: PlanningInput) -> bool:
    return any(name.words and name.start < span.end and span.start < name.end for name in inputs.names)


def _is_stored(place: str, inputs: PlanningInput) -> bool:
    """Whether a stored location, or the user's city, has these words."""
    words = frozenset(folded_words(place))
    known = [str(item.fields.get("location") or "") for item in inputs.items]
    known += [
        str(inputs.user.profile.get("city") or ""),
        *(name.replace("_", " ") for name in inputs.user.places),
    ]
    return any(words <= frozenset(folded_words(text)) for text in known)


def _city(inputs: PlanningInput, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The user's city, if the request asks for the weather and says neither a place nor anything else."""
    text = inputs.request.text
    for phrase in reversed(inputs.time_phrases):
        text = f"{text[: phrase.first]} {text[phrase.last :]}"
    words = frozenset(tokenize(text))
    if words.isdisjoint(_WEATHER) or not words <= _WEATHER | _PLAIN:
        return []
    return [candidate for candidate in candidates if candidate.origin == "profile.city"]
