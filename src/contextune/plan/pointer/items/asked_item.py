"""The item that a question is about, by its words: "How many vacation days are left?", "What is my seat?".

Rankers that learnt from hints are unsure of plain questions, and may take the event of the moment for the
item that is named. Here the telling words of a question are compared with the titles and texts of the items.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.policy.cost import singular
from contextune.search.glosses import gloss
from contextune.types import Item, local_time

_START = (
    r"\W*(?:(?:please|can you|could you|so|and|hey|ok(?:ay)?|also|do you know|tell me|check|remember|i forgot"
    r"|i wonder|any idea),? )*"
)
_QUESTION = re.compile(
    rf"{_START}(?:at |on |in |from |until )?(?:when(?:['’]?s)?|where(?:['’]?s)?|what(?:['’]?s)?|which"
    r"|who(?:['’]?s)?|how (?:much|many|long))\b",
    re.IGNORECASE,
)
_FACT = re.compile(
    rf"{_START}(?:what|which|how many|how much|what(?:['’]?s| is| are) (?:my|the|our))\s+(?P<noun>[^\W\d_]+)",
    re.IGNORECASE,
)
"""A question that names the fact it asks for."""
_AMOUNT = re.compile(rf"{_START}how (?:much|many)\b", re.IGNORECASE)
_SAID = re.compile(
    r"\b(?:say|said|write|wrote|written|answer(?:ed)?|repl(?:y|ied)|mention(?:ed)?|want)\b", re.IGNORECASE
)
"""Asks for what somebody wrote, which is in a mail."""
_HOURS = re.compile(r"\b(?:do|does|is|are)\b.+\b(?:open|close|closed|shut)\b", re.IGNORECASE)
"""Asks for the opening hours of a business, which no item has."""
_NEXT = re.compile(r"\bnext\b", re.IGNORECASE)
_FILLERS = frozenset(
    folded_words("""
    when whens where wheres what whats which who whos how many much long time day date hour next last latest
    first again exactly soon actually start starts begin begins end ends take takes happen happening due
    supposed tell know remember check i im id my our we us have got left is are was were will be today
    tomorrow tonight yesterday week month year monday tuesday wednesday thursday friday saturday sunday
    morning afternoon evening noon wrote write written said say sent send come comes go called rang rung ring
    phoned put
    """)
)
"""Words of questions that say nothing about which item is meant."""
_NOUNS = frozenset(
    folded_words("""
    mail email message event appointment meeting note reminder task todo call calendar inbox mailbox diary
    agenda schedule list entry item thing
    """)
)
_TEXT_WEIGHT = 0.7
"""How much a word in the text of an item counts, compared with one in its title."""
_MIN_SHARE, _MIN_FACT_SHARE = 0.5, 0.4
"""Least share of the words of a question in the item; less is needed if it has the fact that is asked for."""
_FACT_WEIGHT = 1.5
_PREFIX = 5
"""Words with so many first letters in common are forms of one word: "allergic", "allergies"."""
_ABBREVIATION = 4
_ENDING = 4
READ_APPS = frozenset(["Mail", "Calendar", "Notes", "Reminders"])
"""Applications whose items can answer a question."""


@dataclass(frozen=True, slots=True)
class AskedItem:
    """An item that a question is about."""

    number: int
    """Its index."""
    app: str
    certain: bool
    """Whether it has all telling words of the question, and no other item has."""
    has_fact: bool
    """Whether it has the fact that the question asks for by name: "What seat …?"."""
    others: frozenset[int]
    """Items of the application that are not meant."""


_KEPT = "asked item"


def asked_item(inputs: PlanningInput) -> AskedItem | None:
    """The item that the words of a question name; None if it is no question, or names none."""
    if _KEPT not in inputs.kept:
        inputs.kept[_KEPT] = _find(inputs)
    found = inputs.kept[_KEPT]
    return found if isinstance(found, AskedItem) else None


def asked_fact(text: str) -> str | None:
    """The word for the fact that a question asks for: the seat of "What seat do I have?"."""
    return _fact(text, question_words(text))


def question_words(text: str) -> tuple[str, ...]:
    """The telling words of a question about an item; empty for other requests."""
    if _QUESTION.match(text) is None or _HOURS.search(text):
        return ()
    words = dict.fromkeys(folded_words(text))
    return tuple(word for word in words if word not in STOP_WORDS | _FILLERS and singular(word) not in _NOUNS)


def shares_word(item: Item, words: Sequence[str]) -> bool:
    """Whether an item has one of the words, or a form of it."""
    own = _Words(item)
    return any(own.weight(word) for word in words)


def _find(inputs: PlanningInput) -> AskedItem | None:
    text = inputs.request.text
    words = question_words(text)
    if not words:
        return None
    items = {n: _Words(item) for n, item in enumerate(inputs.items) if item.app in READ_APPS}
    if _SAID.search(text):
        items = {n: own for n, own in items.items() if inputs.items[n].app == "Mail"}
    if _AMOUNT.match(text):
        items = {n: own for n, own in items.items() if own.has_number}
    fact = _fact(text, words)
    if not items or (fact is not None and not any(own.weight(fact) for own in items.values())):
        return None
    weights = {word: _FACT_WEIGHT if word == fact else 1.0 for word in words}
    shares = {n: own.share(weights) for n, own in items.items()}
    most = max(shares.values())
    if most < (_MIN_SHARE if fact is None else _MIN_FACT_SHARE):
        return None
    best = [n for n, share in shares.items() if share == most]
    number = _soonest(best, inputs) if _NEXT.search(text) else best[0]
    meant = inputs.items[number]
    is_only = all(inputs.items[n].app == meant.app for n in best)
    is_covered = all(items[number].weight(word) for word in words)
    in_title = any(items[number].weight(word) == 1 for word in words)
    certain = is_only and is_covered and (in_title or len(words) > 1)
    # of a series, such as a weekly class, the ranking decides
    series = {n for n in best if is_only and inputs.items[n].title == meant.title}
    others = {n for n, item in enumerate(inputs.items) if item.app == meant.app} - series - {number}
    has_fact = fact is not None and items[number].weight(fact) > 0
    return AskedItem(number, meant.app, certain, has_fact, frozenset(others))


def _fact(text: str, words: Sequence[str]) -> str | None:
    match = _FACT.match(text)
    noun = folded_words(match["noun"]) if match else ()
    return noun[0] if noun and noun[0] in words else None


def _soonest(numbers: Sequence[int], inputs: PlanningInput) -> int:
    """The item that comes first from now on; the best one if none lies ahead."""
    starts = {n: _start(inputs.items[n], inputs) for n in numbers}
    ahead = {n: start for n, start in starts.items() if start is not None and start >= inputs.now}
    return min(ahead, key=lambda n: ahead[n]) if ahead else numbers[0]


def _start(item: Item, inputs: PlanningInput) -> datetime | None:
    time = item.times.get("start") or item.times.get("due")
    return local_time(time, inputs.user.zone).replace(tzinfo=None) if time else None


class _Words:
    """The words of an item, with an English gloss of its title."""

    def __init__(self, item: Item) -> None:
        self._title = frozenset(folded_words(f"{item.title} {gloss(item.title)}"))
        self._text = frozenset(folded_words(item.text))
        self.has_number = any(character.isdigit() for character in item.text)

    def share(self, weights: Mapping[str, float]) -> float:
        """The share of weighted words that the item has."""
        return sum(self.weight(word) * weight for word, weight in weights.items()) / sum(weights.values())

    def weight(self, word: str) -> float:
        """1 for a word of the title, less for one of the text or another form, 0 if it is not there."""
        if word in self._title:
            return 1.0
        has_form = word in self._text or any(_is_form(word, other) for other in self._title)
        return _TEXT_WEIGHT if has_form else 0.0


def _is_form(word: str, other: str) -> bool:
    """Whether two words are forms of one: a common beginning, or the short form of the other."""
    if len(word) >= _ABBREVIATION and other.startswith(word):
        return True
    return (
        word[:_PREFIX] == other[:_PREFIX] and len(word) >= _PREFIX and abs(len(word) - len(other)) <= _ENDING
    )
