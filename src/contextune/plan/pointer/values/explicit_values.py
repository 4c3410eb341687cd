"""Values of which the request leaves no doubt: numbers, addresses, whole names, titles, places."""

import re
from collections.abc import Sequence

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.clauses import clauses
from contextune.plan.pointer.items.references import added_to
from contextune.plan.pointer.people.call_questions import asked_caller
from contextune.plan.pointer.people.job_titles import titled_addressee
from contextune.plan.pointer.people.named_people import (
    addressed_contact,
    receiving_contact,
    said_contact,
    said_sender,
)
from contextune.plan.pointer.people.senders import (
    company_message,
    named_senders,
    names_unknown_sender,
    sender_of,
)
from contextune.plan.pointer.values.argument_words import (
    ADDRESSES,
    ARTISTS,
    BUSINESSES,
    NUMBERS,
    PEOPLE,
    SAID_PLACES,
    SENDERS,
    TITLES,
)
from contextune.plan.pointer.values.candidate import OMITTED, Candidate
from contextune.plan.pointer.values.destinations import said_destination
from contextune.plan.pointer.values.dialled_numbers import dialled_candidate, is_number_of_item
from contextune.plan.pointer.values.named_lists import named_list
from contextune.plan.pointer.values.nearby_places import said_near
from contextune.plan.pointer.values.opening_hours import business_names
from contextune.plan.pointer.values.spans import TextSpan, title_and_artist
from contextune.plan.pointer.values.weather_places import asks_for_weather, weather_place
from contextune.plan.schema import Parameter
from contextune.plan.values import normalize_text
from contextune.search import tokenize
from contextune.types import Source

_DESTINATION = re.compile(
    r"\b(?:to (?:the |my |our )?|(?:me|back|go|get|drive|walk|head|way|navigate|directions) )"
    r"(?P<place>[^\W\d_]+(?: [^\W\d_]+)?)"
    r"(?:,? (?:from here|now|please|by \w+|on foot))*[\s.!?]*$",
    re.IGNORECASE,
)
_BREAKS = frozenset(
    tokenize(
        "please now today by on from at for and with walking driving cycling foot bike bus car train via then"
    )
)
"""Words that are no part of a destination."""
_HOME = "home"
_PLACE_WORDS = frozenset(["in", "near", "to", "around"])


def certain_candidates(
    inputs: PlanningInput, parameter: Parameter, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """The candidates among which the request itself decides, where it leaves no doubt; else none.

    A phone number or an email address in the request is the number or the address that is meant; the whole
    name of one contact, if nobody else is named, is the person, and so is the contact of "call my sister";
    "play TITLE by ARTIST" says both.
    """
    if parameter.kind != "text":
        return []
    name = frozenset(parameter.words)
    words = name | frozenset(parameter.description_words)
    if words & NUMBERS and (number := dialled_candidate(inputs.request.text)) is not None:
        return [number]
    if words & NUMBERS and is_number_of_item(inputs.request.text):
        return [c for c in candidates if c.span and c.item is not None and c.span.shape == "number"]
    for shape, names in (("number", NUMBERS), ("address", ADDRESSES)):
        if words & names:
            spans = [c for c in candidates if c.span and c.item is None and c.span.shape == shape]
            if len(spans) == 1:
                return spans
    if (target := added_to(inputs)) is not None and target.field in name:
        return [c for c in candidates if c.field == target.field and c.value == target.name][:1]
    if parameter.words == ("list",) and (lists := named_list(inputs)):
        return lists
    title, artist = said_title_and_artist(inputs)
    for span, names in ((title, TITLES), (artist, ARTISTS)):
        if span is not None and name & names:
            same = [c for c in candidates if c.span and c.item is None and c.span.text == span.text]
            source = Source("said", words=span.text)
            if span.text.islower():
                same = _spelt_in_items(span.text, candidates) or same
            return same[:1] or [Candidate(span.text, f"said {span.shape}", (source,), span=span)]
    if name & SAID_PLACES and (
        places := (
            said_destination(inputs) or _named_destination(inputs, candidates)
            if "destination" in name
            else []
        )
        or (said_near(inputs) if "near" in name else [])
        or _said_places(inputs, candidates)
        or (_own_places(inputs, candidates) if "destination" in name else weather_place(inputs, candidates))
    ):
        return places
    if name & BUSINESSES and (names := business_names(inputs, candidates)):
        return names
    person = said_sender(inputs) if name & SENDERS else said_contact(inputs) if name & PEOPLE else None
    if person is None and name & PEOPLE:
        person = asked_caller(inputs)
    if person is not None:
        return [c for c in candidates if c.people == (person,) and c.origin == "contact"]
    if name & SENDERS and (number := company_message(inputs)) is not None:
        message = inputs.items[number]
        source = Source("item", message.id)
        return [Candidate(sender_of(message), f"{message.app}.author", (source,), number, "author")]
    if name & SENDERS and not parameter.required and names_unknown_sender(inputs):
        return [Candidate(None, OMITTED)]
    if not name & PEOPLE:
        return []
    is_recipient = "recipient" in name and not name & SENDERS
    if is_recipient and (addressed := addressed_contact(inputs)) is not None:
        return [c for c in candidates if c.people == (addressed[0],) and c.origin == "contact"]
    if is_recipient and (titled := titled_addressee(inputs)) is not None:
        return [c for c in candidates if c.people == (titled,) and c.origin == "contact"]
    if is_recipient and (receiver := receiving_contact(inputs)) is not None:
        return [c for c in candidates if c.people == (receiver,) and c.origin == "contact"]
    if not name & SENDERS and (receiver := _receiver(inputs)) is not None:
        return [c for c in candidates if c.people == (receiver,) and c.origin == "contact"]
    named = [match for match in inputs.names if match.words]
    whole = [n for n, match in enumerate(inputs.names) if match.full and not match.possessive]
    # other people of the same surname are not named by it
    if len(whole) != 1 or any(not inputs.names[whole[0]].overlaps(match) for match in named):
        return []
    return [c for c in candidates if c.people == (whole[0],) and c.origin == "contact"]


def _spelt_in_items(words: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of items that are these words, with their capitals."""
    wanted = normalize_text(words)
    return [c for c in candidates if c.item is not None and normalize_text(str(c.value)) == wanted]


def _receiver(inputs: PlanningInput) -> int | None:
    """The only contact named after "to", where the only other one is a sender: "the mail from Jan to Mia"."""
    named = {n for n, match in enumerate(inputs.names) if match.words}
    others = named - named_senders(inputs)
    if len(others) != 1 or len(named) != len(others) + 1:
        return None
    (person,) = others
    before = inputs.request.text[: inputs.names[person].start].split()
    return person if before and before[-1].casefold() == "to" else None


def said_title_and_artist(inputs: PlanningInput) -> tuple[TextSpan | None, TextSpan | None]:
    """The title and the artist of the first order that says them; their places are those in that order."""
    pairs = ((clause, title_and_artist(clause)) for clause in clauses(inputs))
    clause, (title, artist) = next((pair for pair in pairs if any(pair[1])), ("", (None, None)))
    if title is not None and artist is not None:
        # "Down by the River" is the title of one song
        whole = normalize_text(clause[title.start : artist.end])
        if any(item.app == "Music" and normalize_text(item.title) == whole for item in inputs.items):
            return None, None
    return title, artist


def _said_places(inputs: PlanningInput, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The only name after "in", "near" or "to" in the request, at its full length: "Weather in Vantaa"."""
    is_weather = asks_for_weather(inputs)
    spans = [
        candidate
        for candidate in candidates
        if candidate.item is None
        and candidate.span is not None
        # "a haircut for Anjali" says no place, "the forecast for Vantaa" does
        and (candidate.span.before in _PLACE_WORDS or (candidate.span.before == "for" and is_weather))
        and all(
            word[0].isupper() for word in (candidate.span.text.split()[0], candidate.span.text.split()[-1])
        )
        and not any(_cross(candidate.span, phrase.first, phrase.last) for phrase in inputs.time_phrases)
        and (
            candidate.span.before == "in"  # a company that is called like its town is not meant
            or not any(
                match.words and _cross(candidate.span, match.start, match.end) for match in inputs.names
            )
        )
    ]
    if len({candidate.span.start for candidate in spans if candidate.span}) != 1:
        return []
    return [max(spans, key=lambda candidate: len(str(candidate.value)))]


def _named_destination(inputs: PlanningInput, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The name that a request for directions ends with, with its last words: "to San Jacinto ballroom"."""
    text = inputs.request.text.rstrip(" .!?")
    spans = [
        candidate
        for candidate in candidates
        if candidate.item is None
        and candidate.span is not None
        and candidate.span.before == "to"
        and candidate.span.end == len(text)
        and candidate.span.text[0].isupper()
        and _BREAKS.isdisjoint(tokenize(candidate.span.text))
        and not any(_cross(candidate.span, phrase.first, phrase.last) for phrase in inputs.time_phrases)
        and not any(match.words and _cross(candidate.span, match.start, match.end) for match in inputs.names)
    ]
    return spans if len(spans) == 1 else []


def _own_places(inputs: PlanningInput, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The user's own place that a request for directions ends with: "How do I get to the office?"."""
    match = _DESTINATION.search(inputs.request.text)
    place = normalize_text(match["place"]).removeprefix("me ").removeprefix("back ") if match else ""
    own = [c for c in candidates if c.origin == "place" and normalize_text(str(c.value)) == place][:1]
    if not own and place == _HOME:  # not stored, but known to any map
        return [Candidate(_HOME, "said name", (Source("said", words=_HOME),))]
    return own


def _cross(span: TextSpan, start: int, end: int) -> bool:
    return span.start < end and start < span.end
