"""The business whose opening hours a request asks for: "Until when is the bakery open?"."""

import re
from collections.abc import Sequence

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.opening_words import PLEASE
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.people.named_people import people_of_role
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.spans import TextSpan
from contextune.types import Source

_STATE = r"(?:open|opened|close|closed|closing|shut)\b"
_THINGS = (
    r"(?:doors?|gates?|windows?|blinds?|curtains?|shutters?|valves?|taps?|eyes?|boot|tabs?|files?|apps?"
    r"|tickets?)"
)
_HOURS = re.compile(
    rf"{PLEASE}(?:(?:until|till|til|from) (?:when|what time)|when|what time|how (?:long|late|early))"
    rf" (?:is|are|does|do|will) (?P<asked>\S.{{0,300}}?) (?:still |be |stay ){{0,8}}{_STATE}"
    rf"|{PLEASE}(?:is|are|does|do|will) (?P<open>\S.{{0,300}}?) (?:still |already |be |stay ){{0,8}}{_STATE}"
    r"(?! (?:the|a|my|to)\b)"
    r"|.{0,300}?\b(?:opening|business) (?:hours|times) (?:of|for|at) (?P<of>\S.{0,300}?)[\s.!?]*$",
    re.IGNORECASE,
)
_THING = re.compile(rf"(?:.{{0,300}} )?{_THINGS}", re.IGNORECASE)
_DETERMINER = re.compile(r"(?:the|my|our|your)\s+", re.IGNORECASE)
_TITLES = frozenset(["subject", "title", "event_name"])
_MAX_WORDS = 6
"""Words of a name; more are a sentence."""


def said_business(inputs: PlanningInput) -> TextSpan | None:
    """The words for a business in a question for its opening hours; None for other requests."""
    match = _HOURS.match(inputs.request.text)
    group = next(name for name, said in match.groupdict().items() if said) if match else ""
    if match is None or _THING.fullmatch(match[group]):
        return None
    start, end = match.span(group)
    for phrase in inputs.time_phrases:  # "the opening hours of the bakery on Sunday"
        if start < phrase.first < end:
            end = phrase.first
    determiner = _DETERMINER.match(inputs.request.text, start)
    start = determiner.end() if determiner else start
    text = inputs.request.text[start:end].rstrip(" ,")
    words = frozenset(folded_words(text)) - STOP_WORDS
    return TextSpan(start, start + len(text), text, "name", "") if words else None


def is_described_business(span: TextSpan, inputs: PlanningInput) -> bool:
    """Whether the words may be no name: "the library", or what a mail is about."""
    before = inputs.request.text[: span.start].split()[-1:]
    if before and _DETERMINER.fullmatch(f"{before[0]} "):
        return True
    words = frozenset(folded_words(span.text))
    return any(item.app != "Calendar" and words.issubset(folded_words(item.title)) for item in inputs.items)


def business_names(inputs: PlanningInput, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The names that are stored with all words for the business, else those words."""
    span = said_business(inputs)
    if span is None:
        return []
    people = people_of_role(span.text, inputs) or people_of_role(span.text, inputs, by_title=True)
    organization = inputs.user.contacts[people[0]].more.get("organization") if len(people) == 1 else None
    if isinstance(organization, str) and organization:  # "the dentist"
        source = Source("contact", inputs.user.contacts[people[0]].name, "organization", span.text)
        return [Candidate(organization, "contact", (source,))]
    words = frozenset(folded_words(span.text))
    names = [
        candidate
        for candidate in candidates
        if (candidate.item is not None or candidate.people)
        and candidate.field not in _TITLES
        and len(own := folded_words(str(candidate.value))) <= _MAX_WORDS
        and words.issubset(own)
    ]
    said = Candidate(span.text, "said name", (Source("said", words=span.text),), span=span)
    return names or [said]
