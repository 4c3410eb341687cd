"""Where a new event takes place: "lunch at Nonna's on Friday", "Tuesday at 11 at Café Turri"."""

import re
from typing import NamedTuple

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.time_phrases.number_words import HOUR

_TIME = "|"
"""Stands for each character of a time."""
_NO_PLACE = (
    r"(?:(?:the )?(?:latest|earliest|least|most|once|all|first|last|night|weekends?|end|beginning|start"
    rf"|same time|usual(?: time)?|lunch(?:time)?|half|quarter|noon|midday|some point|any time)\b|(?:{HOUR})\b"
    r"|\d[\d:.h]*\s*(?:[ap]\.?m\b|o['’]?clock|[|,;.!?]|$)"
    r"|(?:my|the|our) (?:[\w-]+ )?(?:calendar|diary|agenda|schedule|book)\b|person\b|advance\b)"
)
_PLACE = re.compile(
    rf"(?<=[\s|])(?P<preposition>at|in) (?!{_NO_PLACE})(?P<place>[^\W_][^|,;:!?]*?)"
    r"(?=[\s.]*(?:$|[|,;:!?]|[\s.](?:on|at|from|with|for|by|until|till|to|and|about|this|next|every)\b"
    r"|\s(?:in|into|to|on) (?:my|the|our) (?:calendar|diary|agenda)\b))",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"the ", re.IGNORECASE)


class EventPlace(NamedTuple):
    """The words for a place, and the ranges of characters of them and of the preposition before them."""

    text: str
    begin: int
    """Where the preposition begins."""
    start: int
    end: int


def said_place(inputs: PlanningInput) -> EventPlace | None:
    """The place that a request for a new event says: after "at", or behind the time after "in"."""
    text = inputs.request.text
    times = [(phrase.first, phrase.last) for phrase in inputs.time_phrases]
    times += [(clock.start, clock.end) for clock in inputs.times.clocks]
    if not times:
        return None
    masked = text
    for first, last in times:
        masked = f"{masked[:first]}{_TIME * (last - first)}{masked[last:]}"
    for match in _PLACE.finditer(masked):
        is_behind = _TIME in masked[: match.start()]
        if match["preposition"].casefold() == "in" and not is_behind:
            continue  # "a lesson in Spanish"
        if _is_employer(match, inputs):
            continue
        article = _ARTICLE.match(match["place"])
        start = match.start("place") + (article.end() if article else 0)
        return EventPlace(text[start : match.end("place")], match.start(), start, match.end("place"))
    return None


def _is_employer(match: re.Match[str], inputs: PlanningInput) -> bool:
    """Whether it tells who is meant by the name before it: "a call with Ana at Nordlicht"."""
    words = frozenset(folded_words(match["place"]))
    pairs = zip(inputs.names, inputs.user.contacts, strict=True)
    return any(
        name.words
        and name.start < match.start() <= name.end + 1
        and words.intersection(folded_words(str(contact.more.get("organization") or "")))
        for name, contact in pairs
    )
