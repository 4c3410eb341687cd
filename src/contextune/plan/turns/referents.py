"""The item that a request means by what was shown: "the second one", "the one from Rui", "it", "there"."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contextune.context.history import refers_back
from contextune.context.stop_words import STOP_WORDS
from contextune.plan.multi_step.anaphora import find_anaphora
from contextune.plan.times.phrases import find_times
from contextune.plan.turns.choices import ordinal
from contextune.plan.turns.words import compiled
from contextune.search import tokenize
from contextune.types import Item, Request, TurnState, User, local_time

_NUMBERED = (
    r"(?:(?:\bthe )?\b(?P<first>{ordinals}|last) (?P<kind>{kinds})\b"
    r"(?! (?:from|about|of|with|by|i|he|she|they)\b)"
    r"|\b(?:number|no\.|option) (?P<number>\d{1,2})\b|^\W*(?:the )?(?P<alone>{ordinals})\W*$)"
)
_NAMED = (
    r"\b(?:the|that) (?:one (?:from|by|with|about|at|in|on|to) (?P<behind>[^\W_][\w’'-]*(?: [^\W_][\w’'-]*)?)"
    r"|(?P<before>[^\W_][\w’'-]*(?: [^\W_][\w’'-]*)?) one\b)"
)
_NEIGHBOUR = (
    r"\W*+(?:{continuations}|show me|read me)?[\s,]*(?:(?:the|an?) )?"
    r"(?:{kinds}s? (?:right |just )?(?P<behind>{before}|{after})|(?P<front>{before}|{after})(?: {kinds})?)"
    r"(?: (?:that|it|this)(?: one)?)?\W*"
)
_THAT_ONE = r"\b(?:that|this) one\b"
_BEFORE_IT = r"\b(?:{before}|{after}|beforehand|ahead)(?=\W*$|\W+(?:to|please|and|too)\b)"
_ABOUT_IT = (
    r"\W*(?:{continuations}\b[\s,]*){0,3}(?:is (?:it|that) )?{about_it}(?: (?:is|was) (?:it|that))?\W*"
)
_MAX_TEXT = 300
"""Characters of a request that may refer to what was shown."""
Way = Literal["chosen", "neighbour", "spoken of"]


@dataclass(frozen=True, slots=True)
class Referent:
    """The item that a request means, and how it says so."""

    item: Item | None
    """None if there is no such item, as `reason` says."""
    way: Way
    reason: str
    is_alone: bool = False
    """Whether the request says nothing else: "the second one"."""


def names_shown(text: str) -> bool:
    """Whether a text means one of several things by its number or its name: "the second one"."""
    return any(compiled(pattern).search(text) for pattern in (_NUMBERED, _NAMED, _THAT_ONE))


def meant_item(
    request: Request, user: User, load_items: Callable[[Sequence[str] | None], Sequence[Item]]
) -> Referent | None:
    """The item that a request refers to by what earlier turns have left; `load_items` returns items by id."""
    state, text = request.state, request.text
    if state is None or len(text) > _MAX_TEXT:
        return None
    if neighbour := compiled(_NEIGHBOUR).fullmatch(text):
        return _neighbour(state, neighbour, user, load_items(None))
    shown = {item.id: item for item in load_items(list(state.items))} if state.items else {}
    listed = [shown[item] for item in state.items if item in shown]
    if match := compiled(_NUMBERED).search(text):
        return _numbered(match, listed)
    if match := compiled(_NAMED).search(text):
        words = frozenset(tokenize(match["behind"] or match["before"])) - STOP_WORDS
        named = [item for item in listed if words and words <= frozenset(tokenize(_telling(item)))]
        if len(named) == 1:
            return Referent(named[0], "chosen", f"the one that says {' '.join(sorted(words))}")
    if state.about and _speaks_of_it(request, user):
        item = next(iter(load_items([state.about])), None)
        return Referent(item, "spoken of", f"“{item.label}”, of which the talk was") if item else None
    return None


def _numbered(match: re.Match[str], listed: Sequence[Item]) -> Referent | None:
    """The item with a number of those shown; of the mails alone for "the second mail"."""
    kind = (match["kind"] or "one").casefold()
    same = [item for item in listed if item.schema.noun == kind or kind in tokenize(item.app)]
    among = listed if kind == "one" or not same else same
    word = match["first"] or match["alone"]
    number = ordinal(word, len(among)) if word else int(match["number"])
    if not 1 <= number <= len(among):
        return None
    item = among[number - 1]
    is_alone = match.span() == (0, len(match.string.rstrip(" .!?")))
    return Referent(item, "chosen", f"number {number} of those shown", is_alone)


def _speaks_of_it(request: Request, user: User) -> bool:
    """Whether a request is about the thing last spoken of: by a pronoun, by a time beside it, or unsaid."""
    text = request.text
    if compiled(_THAT_ONE).search(text) or compiled(_ABOUT_IT).fullmatch(text):
        return True
    if find_anaphora(text).any and refers_back(text):
        return True
    shifts = find_times(text, local_time(request.time, user.zone))
    return bool(shifts.shifts or shifts.day_offsets) and compiled(_BEFORE_IT).search(text) is not None


def _neighbour(state: TurnState, match: re.Match[str], user: User, items: Sequence[Item]) -> Referent | None:
    """The item before or after the last one: of the same people, else of the same title, else of its kind."""
    last = next((item for item in items if item.id == (state.about or next(iter(state.items), ""))), None)
    if last is None:
        return None
    word = match["behind"] or match["front"]
    backwards = compiled("{before}").fullmatch(word) is not None

    def moment(item: Item) -> datetime:
        return local_time(item.time, user.zone) if item.time else datetime.min

    def people(item: Item) -> set[str]:
        others = {person.casefold() for person in item.people}
        return {person for person in others if not any(own in person for own in user.addresses)}

    others = [
        item
        for item in items
        if item.app == last.app
        and item.id != last.id
        and (moment(item) < moment(last) if backwards else moment(item) > moment(last))
    ]
    same = [item for item in others if people(last) & people(item)]
    same = same or [item for item in others if item.title.casefold() == last.title.casefold()]
    found = (max if backwards else min)(same or others, key=moment, default=None)
    place = "before" if backwards else "after"
    if found is None:
        return Referent(None, "neighbour", f"There is nothing in {last.app} {place} “{last.title}”.")
    return Referent(found, "neighbour", f"the one {place} “{last.title}”", is_alone=True)


def _telling(item: Item) -> str:
    return f"{item.title} {' '.join(item.people)}"
