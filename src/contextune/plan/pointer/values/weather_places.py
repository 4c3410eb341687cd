"""Where a question about the weather asks for: a place in any spelling, an event's, else the user's own."""

import re
from collections.abc import Sequence

from contextune.context.build_scene import resolve_place
from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words, time_words
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
_OCCASION = re.compile(
    r"\b(?:for|at|during|on) (?:the |my |our |[\w-]+['’]s )(?P<what>[^\W\d_][^.,;:!?]*)", re.IGNORECASE
)
_CERTAIN = frozenset(["in", "near", "around"])
"""Prepositions before a place; after "at" and "for" may be an occasion: "for dinner"."""


def asks_for_weather(inputs: PlanningInput) -> bool:
    """Whether a word of the request is about the weather."""
    return not _WEATHER.isdisjoint(inputs.tokens)


def weather_place(inputs: PlanningInput, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The place that a question about the weather says, in any spelling, or where the user is."""
    return _said(inputs) or _occasion(inputs, candidates) or _own(inputs, candidates)


def says_only_weather(inputs: PlanningInput) -> bool:
    """Whether a request asks for the weather, and says nothing else but when: no item tells where."""
    text = inputs.request.text
    for phrase in reversed(inputs.time_phrases):
        text = f"{text[: phrase.first]} {text[phrase.last :]}"
    words = frozenset(tokenize(text))
    return not words.isdisjoint(_WEATHER) and words <= _WEATHER | _PLAIN


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


def _occasion(inputs: PlanningInput, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The place of the event that is named: "the weather for the rowing regatta"."""
    match = _OCCASION.search(inputs.request.text) if asks_for_weather(inputs) else None
    words = frozenset(folded_words(match["what"])) - STOP_WORDS - time_words(inputs) if match else None
    if not words:
        return []
    events = [n for n, item in enumerate(inputs.items) if "start" in item.times]
    named = [n for n in events if words.issubset(folded_words(inputs.items[n].title))]
    if len({inputs.items[n].title for n in named}) != 1:
        return []
    return [c for c in candidates if c.item == named[0] and c.field == "location" and c.span is None]


def _own(inputs: PlanningInput, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The user's city, else the place where the user is, if the request says nothing but the weather."""
    if not says_only_weather(inputs):
        return []
    here = (resolve_place(inputs.request, inputs.user) or "").replace("_", " ")
    return [c for c in candidates if c.origin == "profile.city"] or [
        c for c in candidates if c.origin == "place" and c.value == here
    ]
