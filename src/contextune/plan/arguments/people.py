"""The people that an argument may mean: named, related, described, spelt alike, or of the best items."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from contextune.plan.arguments.candidate import ValueCandidate, origin_of
from contextune.plan.planning_input import PlanningInput
from contextune.reading.texts import Names, contact_text, value_text
from contextune.search import tokenize
from contextune.types import Contact, Source
from contextune.types.field_values import to_text

NAMED = 4
"""Least weight of somebody whom the request names."""
_PEOPLE = 8
"""Most contacts."""
_SPELT, _LONGEST, _SPELT_TOKENS, _LIKE = 4, 24, 24, 0.72
"""Least and most letters of words compared by spelling, most words of a request, and least likeness."""
_RARE = 3
"""Contacts that may share a word that tells who is meant."""


def people_candidates(inputs: PlanningInput, names: Names) -> list[ValueCandidate]:
    """The contacts that the request or the conversation names, then those of the best items."""
    contacts = inputs.people.contacts
    weights: dict[int, float] = {}
    ranks: dict[int, int] = {}
    for index, (match, relation) in enumerate(zip(inputs.names, inputs.relation_matches, strict=True)):
        if match.words or relation:
            weights[index] = NAMED + 2 * match.words + match.share + 1.5 * relation
    for turn in inputs.request.history[-2:]:
        for index, count in enumerate(inputs.people.count_name_matches(tokenize(turn.text))):
            if count:
                weights[index] = max(weights.get(index, 0.0), 3 + count)
    others: list[ValueCandidate] = []
    for rank, item in enumerate(inputs.items):
        for person in item.people:
            index = inputs.people.index(person)
            if index is not None:
                weights[index] = max(weights.get(index, 0.0), 2 - rank / 10)
                ranks.setdefault(index, rank)
            elif names.name(person) == person and len(others) < 3:
                source = Source("item", item.id, words=person)
                text = value_text(person, f"person of {origin_of(item, rank)}")
                role = f"person of {item.schema.noun}"
                others.append(ValueCandidate(person, "person", text, source, item=rank, role=role))
    for index, shared in _described(inputs.tokens, contacts).items():
        weights[index] = max(weights.get(index, 0.0), 1 + shared)
    for index, likeness in spelt_alike(inputs.tokens, contacts).items():
        weights.setdefault(index, 3 * likeness)
    order = sorted(weights, key=lambda index: -weights[index])[:_PEOPLE]
    called = [
        ValueCandidate(
            contacts[index].name,
            "person",
            value_text(contacts[index].name, _about(contacts[index])),
            Source("contact", contacts[index].name),
            contacts[index],
            item=ranks.get(index, -1),
            role="contact",
            weight=weights[index],
        )
        for index in order
    ]
    return called + others


@lru_cache(maxsize=64)
def _contact_words(contacts: tuple[Contact, ...]) -> tuple[list[frozenset[str]], Counter[str]]:
    words = [frozenset(tokenize(contact_text(contact))) for contact in contacts]
    return words, Counter(word for each in words for word in each)


def _described(tokens: Sequence[str], contacts: tuple[Contact, ...]) -> dict[int, float]:
    """The contacts that share rare words with the request in whatever their cards say."""
    words, counts = _contact_words(contacts)
    wanted = {token for token in tokens if 0 < counts[token] <= _RARE}
    return {
        index: sum(1 / counts[word] for word in shared)
        for index, each in enumerate(words)
        if (shared := each & wanted)
    }


def spelt_alike(tokens: Sequence[str], contacts: tuple[Contact, ...]) -> dict[int, float]:
    """The contacts with a word in the name that is spelt nearly as one of the request."""
    alike: dict[int, float] = {}
    wanted = [token for token in dict.fromkeys(tokens) if _SPELT <= len(token) <= _LONGEST][:_SPELT_TOKENS]
    for index, words in enumerate(_name_words(contacts)):
        best = max((_likeness(token, word) for token in wanted for word in words), default=0.0)
        if best >= _LIKE:
            alike[index] = best
    return alike


@lru_cache(maxsize=64)
def _name_words(contacts: tuple[Contact, ...]) -> list[list[str]]:
    called = (f"{contact.name} {to_text(contact.more.get('nickname'))}" for contact in contacts)
    return [
        [word for word in dict.fromkeys(tokenize(text)) if _SPELT <= len(word) <= _LONGEST] for text in called
    ]


def _likeness(first: str, second: str) -> float:
    """The share of letters that two words have in common, in order; 0 if they begin otherwise."""
    if first[0] != second[0] or abs(len(first) - len(second)) > 2:
        return 0.0
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def _about(contact: Contact) -> str:
    more = contact.more
    parts = (
        contact.relation,
        to_text(more.get("nickname")),
        to_text(more.get("organization")),
        to_text(more.get("title")),
    )
    return ", ".join(["contact", *filter(None, parts)])
