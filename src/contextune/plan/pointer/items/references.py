"""Which items a request refers to, by what it says about them.

"The latest mail from Jan" is one that Jan wrote, and the newest of them; "the milk reminder" has milk in its
title; what can be answered is what others sent. Where such words single out some items, values come from no
others of that application.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import permutations
from typing import NamedTuple

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.asked_item import asked_item
from contextune.plan.pointer.items.described_music import (
    described_candidates,
    describes_music,
    replays_last,
)
from contextune.plan.pointer.items.hour_references import events_at_said_hour
from contextune.plan.pointer.items.item_nouns import ITEM_NOUN, item_app
from contextune.plan.pointer.people.call_questions import asked_caller, asks_for_calls
from contextune.plan.pointer.people.named_people import addressed_people, asked_speaker, receiving_contact
from contextune.plan.pointer.people.senders import answered_people, is_own, not_sent_by, sender_of
from contextune.plan.pointer.request_words import folded_words, time_words
from contextune.plan.pointer.spelling import respelled
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.schema import Parameter
from contextune.plan.values import normalize_text
from contextune.search.glosses import gloss
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Item, Tool, local_time

_REPLYING = frozenset(["reply", "answer", "respond"])
_PASSING = frozenset(["forward", "share"])
_CREATING = frozenset(["create", "add", "new"])
_LATEST = frozenset(["latest", "newest", "last", "recent"])
_BETWEEN = frozenset(["most", "new", "unread", "received", "missed", "e"])
"""Words that may stand between "latest" and what it describes."""
_INNER = r"(?!(?:the|my|our|a|an|about|from|to|of|in|on|for|with|and|by|at|i)\b)[^\W_][\w'’-]*"
"""A word of a description of an item."""
_REFERRING = re.compile(
    rf"\b(?:the|my|that|this|our)\s+(?P<words>{_INNER}(?:\s+{_INNER}){{0,3}}?)\s+(?P<noun>{ITEM_NOUN})\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:the|my|that|our)\s+(?P<noun>[a-z-]+)\s+about\s+(?P<topic>[^,;:.!?]+)", re.IGNORECASE
)
_BEFORE_ORDER = r"\W*(?:(?:please|can you|could you|just),? )*"
"""Words before the verb of an order, as a regular expression."""
_OBJECT = re.compile(
    rf"{_BEFORE_ORDER}"
    r"(?:(?P<verb>open|close|shut|start|cancel|call off|delete|scrap|drop|remove|move|push|shift"
    r"|postpone|reschedule|delay|put off|put back|(?:bring|pull)(?! up| me))"
    r"|invite \S.*? to)\s+(?:(?:the|my|our|that|this|tomorrow['’]s|today['’]s)\s+)*"
    r"(?P<what>[\w'’-]+(?:\s+(?!(?:to|until|till|from|for|at|on|with|by|about|in|of)\b)[\w'’-]+){0,2})"
    r"(?:\s+(?:to|until|till|for|at|on|with|by)\s[^,;.!?]*)?[\s.!?]*$",
    re.IGNORECASE,
)
"""An order that names its object in one to three words."""
_DAYS = frozenset(
    folded_words(
        "monday tuesday wednesday thursday friday saturday sunday today tonight tomorrow morning evening"
    )
)
_PLEASE = frozenset(["open", "close", "shut", "start"])
_ADD = re.compile(
    rf"{_BEFORE_ORDER}(?:add|put|append) (?P<what>\S.{{0,300}}) (?:to|on|onto|in|into) "
    r"(?:(?:the|my|our) )?(?P<target>\S.{0,300}?)(?P<noun> note| playlist)?[\s.!?]*$",
    re.IGNORECASE,
)
_TARGETS = (("Notes", "title"), ("Music", "playlist"))
_EMPTY = frozenset(
    folded_words("the my that this our a an to of for on in at and or about from with by old new")
)
_WHO = re.compile(r"^\W*(?:so |and |hey |ok(?:ay)?,? )?who(?:['’](?:s|d|ve))?\b", re.IGNORECASE)
_SERIES = 0.6
"""Share of their words that two titles of one series have in common: invoices, reports."""


def referred(
    candidates: Sequence[Candidate], tool: Tool, inputs: PlanningInput, parameter: Parameter | None = None
) -> list[Candidate]:
    """The candidates for a parameter without those of items that the request does not refer to."""
    if tool.app == "Music" and describes_music(inputs.request.text):
        return described_candidates(candidates, inputs, parameter)
    if not any(candidate.item is not None for candidate in candidates):
        return list(candidates)
    references = _references(inputs)
    excluded = references.others
    answers = bool(_REPLYING.intersection(identifier_words(tool.name)[:1]))
    if answers:
        excluded |= references.own | _not_of_addressed(inputs)
    if _PASSING.intersection(identifier_words(tool.name)[:1]):
        receiver = receiving_contact(inputs)  # who gets no mail of their own
        excluded |= {
            number
            for number, item in enumerate(inputs.items)
            if receiver is not None and inputs.people.index(sender_of(item)) == receiver
        }
    left = [candidate for candidate in candidates if candidate.item not in excluded]
    if not any(candidate.item is not None for candidate in left):
        if answers and answered_people(inputs):  # no mail of somebody else is answered
            return [candidate for candidate in candidates if candidate.item in references.own]
        left = list(candidates)
    asked = asked_item(inputs)
    is_asked = asked is not None and any(candidate.item == asked.number for candidate in left)
    if asked_speaker(inputs) is not None or is_asked:  # the words of a question are no title
        left = [candidate for candidate in left if candidate.item is not None]
    if asked is not None and is_asked and tool.app == asked.app:  # a mail is called by no word of an event
        left = [c for c in left if c.item is None or inputs.items[c.item].app == tool.app]
    if not _CREATING.intersection(identifier_words(tool.name)[:1]):
        left = _without_references(left, inputs)
    items = {candidate.item for candidate in left}
    superseded = {number for number, other in references.superseded if other in items}
    return [candidate for candidate in left if candidate.item not in superseded]


def _not_of_addressed(inputs: PlanningInput) -> set[int]:
    """The messages of others than whom an answer is for, if some are theirs: "Tell Ana we need no more"."""
    people = addressed_people(inputs)
    senders = {
        n: inputs.people.index(sender) for n, item in enumerate(inputs.items) if (sender := sender_of(item))
    }
    if not people.intersection(senders.values()):
        return set()
    return {number for number, sender in senders.items() if sender not in people}


def _without_references(candidates: Sequence[Candidate], inputs: PlanningInput) -> list[Candidate]:
    """The candidates without the words that only refer to an item: "the Black Friday mail" is no title."""
    ordered, _ = said_object(inputs.request.text)
    words = ordered.union(*(described for _, described in described_items(inputs)))
    titled = {
        candidate.item
        for candidate in candidates
        if candidate.item is not None
        and candidate.value == inputs.items[candidate.item].title
        and words.intersection(folded_words(inputs.items[candidate.item].title))
    }
    if not titled:
        return list(candidates)
    words |= time_words(inputs)
    return [
        candidate
        for candidate in candidates
        if candidate.item is not None
        or candidate.span is None
        or not (ordered or words.issuperset(folded_words(str(candidate.value))))
    ]


def said_object(text: str) -> tuple[frozenset[str], bool]:
    """The words for what a short order is about, and whether it is only to open it: "Cancel karaoke"."""
    match = _OBJECT.match(text)
    if match is None:
        return frozenset(), False
    words = frozenset(folded_words(match["what"])) - STOP_WORDS - _DAYS - {"forward", "back", "up", "off"}
    if any(item_app(word) and word != "newsletter" for word in words):
        return frozenset(), False  # "the pension mail" may be in other words
    return words, (match["verb"] or "").casefold() in _PLEASE


_WRITE_INTO = re.compile(
    rf"{_BEFORE_ORDER}(?:write|note|jot|put|add|log)(?: down)? (?:in|into|to|on|onto) (?:(?:the|my|our) )?"
    r"(?:note )?(?P<target>\S[^:]*?)(?: note)?(?::| that) (?P<what>\S.*)$",
    re.IGNORECASE,
)
"""The line after the note: "Write in my gift ideas: a lamp"."""


class AddedTo(NamedTuple):
    """The note or the playlist, by its whole name, that something is added to."""

    name: str
    field: str
    """The field of items that holds the name."""


def added_to(inputs: PlanningInput) -> AddedTo | None:
    """What "Add … to …" adds to: a note, or a playlist if the song is known, too; None if that is open."""
    match = _ADD.match(inputs.request.text)
    if into := _WRITE_INTO.match(inputs.request.text):
        targets = _titled(into["target"], inputs) or _lists_named(into["target"], inputs)
        return targets.pop() if len(targets) == 1 else None
    if match is None:
        return None
    start, end = match.span("what")
    # "Add Teresa to the sprint demo" invites her, "Ana's book" is a thing
    if any(
        name.words and name.end > start and not (name.possessive and name.end < end) for name in inputs.names
    ):
        return None
    wanted = normalize_text(match["target"])
    targets = {
        AddedTo(str(item.fields[field]), field)
        for item in inputs.items
        for app, field in _TARGETS
        if item.app == app and normalize_text(str(item.fields.get(field) or "")) == wanted
    }
    targets = targets or _lists_named(match["target"], inputs)
    targets = targets or _titled(_respelled_title(match["target"], inputs), inputs)
    if len(targets) != 1:
        return None
    target = targets.pop()
    song = normalize_text(match["what"])
    is_known = any(normalize_text(str(item.fields.get("song_name") or "")) == song for item in inputs.items)
    return target if target.field == "title" or is_known else None


def _titled(target: str, inputs: PlanningInput) -> set[AddedTo]:
    """The notes whose whole title the request says."""
    titles = (item.title for item in inputs.items if item.app == "Notes")
    return {AddedTo(name, "title") for name in titles if normalize_text(name) == normalize_text(target)}


def _respelled_title(target: str, inputs: PlanningInput) -> str:
    """The name of a note with its misspelt words as titles of notes spell them: "the shoping list"."""
    known = {word for item in inputs.items if item.app == "Notes" for word in tokenize(item.title)}
    words = tokenize(target)
    return " ".join(word if word in known else respelled(word, known) for word in words)


def _lists_named(target: str, inputs: PlanningInput) -> set[AddedTo]:
    """The notes that are lists of what the request says, and say more: "the packing list"."""
    words = frozenset(folded_words(target)) - _EMPTY
    if "list" not in words or len(words) == 1:
        return set()
    titles = (item.title for item in inputs.items if item.app == "Notes")
    return {AddedTo(title, "title") for title in titles if words <= frozenset(folded_words(title))}


def asks_for_person(parameter: Parameter, inputs: PlanningInput) -> bool:
    """Whether the request asks for a person, who is then no value of an optional argument: "Who called?"."""
    names = frozenset(["contact", "person", "caller", "sender", "participant", "who"])
    if parameter.required or names.isdisjoint(parameter.words):
        return False
    if asks_for_calls(inputs) and asked_caller(inputs) is None:  # "Any missed calls?"
        return True
    return _WHO.match(inputs.request.text) is not None and not any(match.words for match in inputs.names)


@dataclass(frozen=True, slots=True)
class _References:
    """What a request says about its items, by their indexes."""

    others: frozenset[int]
    """Items that were sent by somebody else, or lack the words, that the request says."""
    own: frozenset[int]
    """Messages that the user sent."""
    superseded: Sequence[tuple[int, int]]
    """Items, each with one that is meant in its place."""


_KEPT = "references"


def _references(inputs: PlanningInput) -> _References:
    references = inputs.kept.get(_KEPT)
    if not isinstance(references, _References):
        own = (number for number, item in enumerate(inputs.items) if is_own(item, inputs.user))
        others = not_sent_by(inputs) | _not_described(inputs) | _not_ordered(inputs)
        if (asked := asked_item(inputs)) is not None:
            others |= asked.others
        references = inputs.kept[_KEPT] = _References(frozenset(others), frozenset(own), _superseded(inputs))
    return references


def _not_described(inputs: PlanningInput) -> set[int]:
    """After "the milk reminder", the reminders without milk in their title, or text, if some have it."""
    excluded: set[int] = set()
    for app, words in [*described_items(inputs), *_topics(inputs)]:
        numbers = [number for number, item in enumerate(inputs.items) if item.app == app]
        titles = {n: len(words.intersection(folded_words(inputs.items[n].title))) for n in numbers}
        texts = {n: len(words.intersection(folded_words(inputs.items[n].text))) for n in numbers}
        # the text of a song has its playlist and its artist, too
        shared = titles if any(titles.values()) or app == "Music" else texts
        most = max(shared.values(), default=0)
        excluded |= {number for number, count in shared.items() if count < most}
    return excluded


def lacks_description(item: Item, inputs: PlanningInput) -> bool:
    """Whether the request describes an item of this application by other words than those of this one.

    A word of the title or the people suffices; of words in the text, all are needed.
    """
    described = [words for app, words in described_items(inputs) if app == item.app]
    people = " ".join(
        f"{contact.name} {contact.relation or ''}"  # "the minister's mail"
        for contact in filter(None, map(inputs.people.get, item.people))
    )
    title = frozenset(folded_words(f"{item.title} {gloss(item.title)} {sender_of(item)} {people}"))
    text = title.union(folded_words(item.text))
    return bool(described) and not any(words & title or words <= text for words in described)


def described_items(inputs: PlanningInput) -> list[tuple[str, frozenset[str]]]:
    """The applications and the words of "the milk reminder", "my pension mail"."""
    described: list[tuple[str, frozenset[str]]] = []
    for match in _REFERRING.finditer(inputs.request.text):
        app = item_app(match["noun"])
        words = frozenset(folded_words(match["words"])) - _EMPTY - _LATEST
        if app is not None and (words := _untimed(words, app, inputs)):
            described.append((app, _respelled(words, app, inputs)))
    return described


def _untimed(words: frozenset[str], app: str, inputs: PlanningInput) -> frozenset[str]:
    """The words without those that say when, unless they are of a title: "the Black Friday mail"."""
    if any(words <= frozenset(folded_words(item.title)) for item in inputs.items if item.app == app):
        return words
    return words - time_words(inputs)


def _respelled(words: frozenset[str], app: str, inputs: PlanningInput) -> frozenset[str]:
    """The words, with those that misspell a word of a title also as that word."""
    known = {word for item in inputs.items if item.app == app for word in folded_words(item.title)}
    return words | {respelled(word, known) for word in words - known}


def _topics(inputs: PlanningInput) -> list[tuple[str, frozenset[str]]]:
    """The applications and the words of "the reminder about the milk"."""
    topics: list[tuple[str, frozenset[str]]] = []
    for match in _ABOUT.finditer(inputs.request.text):
        if (app := item_app(match["noun"])) is not None:
            words = frozenset(folded_words(match["topic"])) - STOP_WORDS
            topics.append((app, _respelled(words, app, inputs)))
    return topics


def _not_ordered(inputs: PlanningInput) -> set[int]:
    """After "Cancel the yoga", the items whose title has less of these words than another of their app."""
    if at_hour := events_at_said_hour(inputs):
        return {n for n, item in enumerate(inputs.items) if "start" in item.times and n not in at_hour}
    words, _ = said_object(inputs.request.text)
    shared = [len(words.intersection(folded_words(item.title))) for item in inputs.items]
    most: dict[str, int] = {}
    for item, count in zip(inputs.items, shared, strict=True):
        most[item.app] = max(most.get(item.app, 0), count)
    return {number for number, item in enumerate(inputs.items) if shared[number] < most[item.app]}


def _superseded(inputs: PlanningInput) -> list[tuple[int, int]]:
    """The items in whose place another is meant: a newer one, or one of whose title more is said."""
    latest = "Music" if replays_last(inputs.request.text) else _latest_app(inputs.tokens)
    request = frozenset(folded_words(inputs.request.text)) - _EMPTY
    superseded: list[tuple[int, int]] = []
    for number, other in permutations(range(len(inputs.items)), 2):
        item, rival = inputs.items[number], inputs.items[other]
        if item.app != rival.app:
            continue
        more, same = _compare_titles(item.title, rival.title, request)
        if more or ((same or item.app == latest) and _is_newer(rival, item, inputs)):
            superseded.append((number, other))
    return superseded


def _latest_app(tokens: Sequence[str]) -> str | None:
    """The application of "my latest mail", "the most recent note"."""
    for place, token in enumerate(tokens):
        if token in _LATEST:
            following = [word for word in tokens[place + 1 : place + 4] if word not in _BETWEEN]
            if following and (app := item_app(following[0])):
                return app
    return None


def _compare_titles(title: str, other: str, request: frozenset[str]) -> tuple[bool, bool]:
    """Of two titles of one series, whether the request says more of the other, or the same of both."""
    first, second = frozenset(folded_words(title)), frozenset(folded_words(other))
    if len(first & second) < _SERIES * len(first | second) or first == second:
        return False, False
    first, second = first & request, second & request
    return first < second, bool(first) and first == second


def _is_newer(item: Item, other: Item, inputs: PlanningInput) -> bool:
    times = [_past_time(one, inputs) for one in (item, other)]
    return times[0] is not None and times[1] is not None and times[0] > times[1]


def _past_time(item: Item, inputs: PlanningInput) -> datetime | None:
    """When a message, note or song was made; None for events and for what lies ahead."""
    made = item.times.get("made")
    if made is None or "start" in item.times or "due" in item.times:
        return None
    time = local_time(made, inputs.user.zone)
    return time if time <= inputs.now else None
