"""People beside the items: the contacts that a request means, and their cards."""

import math
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import islice

from contextune._internal.untrusted import neutralize
from contextune.plan.arguments.people import spelt_alike
from contextune.plan.planning_input import PlanningInput
from contextune.reading.texts import best_passage, contact_keys
from contextune.search import LexicalIndex, tokenize
from contextune.search.glosses import gloss
from contextune.search.stop_words import STOP_WORDS
from contextune.types import Contact
from contextune.types.field_values import to_text

MAX_PEOPLE = 4
_ITEMS, _NEEDED = 2, 0.5
"""First items whose people get cards, and their least probability of being needed, if it is known."""
_SPELT = 0.85
"""Least likeness of a word to one of a name: "Birtes" is Birte's."""
_COVERED = 0.5
"""Least share of a request, weighted by how rare its words are among the cards, that a card has to say."""
_MAX_CARD, _NOTE = 2_000, 200
"""Characters of a card that are searched, and of a field that are shown."""
_SHOWN = {"nickname": "", "organization": "", "title": "", "birthday": "birthday", "addresses": "address"}
"""Short fields that are shown, with their labels."""


def find_people(inputs: PlanningInput, most: int = MAX_PEOPLE) -> list[Contact]:
    """The contacts that the request means, best first, then those of the first items that it needs.

    It means those it names or relates to; else those whose names it nearly spells; else those whose cards
    have most of its words.
    """
    contacts, tokens = inputs.user.contacts, inputs.tokens
    weights = _named(inputs)
    if not weights:
        weights = {n: like for n, like in spelt_alike(tokens, contacts).items() if like >= _SPELT}
    if not weights:
        weights = {n: share for n, share in _described(tokens, contacts).items() if share >= _COVERED}
    meant = sorted(weights, key=lambda index: -weights[index])
    needed = (
        hit.item for hit in inputs.read_hits[:_ITEMS] if hit.probability is None or hit.probability >= _NEEDED
    )
    people = (inputs.people.index(person) for item in needed for person in item.people)
    order = dict.fromkeys([*meant, *(index for index in people if index is not None)])
    return [contacts[index] for index in islice(order, most)]


def _named(inputs: PlanningInput) -> dict[int, float]:
    """The contacts that the request names or relates to: "Bruno Rossi" is not another Bruno."""
    weights: dict[int, float] = {}
    for index, (match, related) in enumerate(zip(inputs.names, inputs.relation_matches, strict=True)):
        is_other = any(other.words > match.words and other.overlaps(match) for other in inputs.names)
        if related or (match.words and not is_other):
            weights[index] = 2 * match.words + match.share + 1.5 * related
    return weights


def contact_card(contact: Contact, words: Collection[str] = ()) -> str:
    """A contact on one line: name, relation, what else the card says, addresses, numbers, note.

    Of a long note, the passage that shares most with `words`.
    """
    texts = [contact.name, contact.relation, *_about(contact), *contact_keys(contact)[1:]]
    if note := to_text(contact.more.get("note")):
        texts.append(f"note: {best_passage(note, words, _NOTE)}")
    return ", ".join(dict.fromkeys(neutralize(text) for text in texts if text))


def about_contact(contact: Contact, words: Collection[str] = ()) -> str:
    """What a card says beside the name, the relation, addresses and numbers."""
    note = best_passage(to_text(contact.more.get("note")), words, _NOTE)
    return ", ".join(neutralize(text) for text in (*_about(contact), note) if text)


def _about(contact: Contact) -> list[str]:
    """The short fields of a card, with labels where they are needed."""
    fields = ((label, to_text(contact.more.get(name))) for name, label in _SHOWN.items())
    return [f"{label} {text[:_NOTE]}".lstrip() for label, text in fields if text]


def _described(tokens: Sequence[str], contacts: tuple[Contact, ...]) -> dict[int, float]:
    """How much of a request the card of each contact says, if it says any of it.

    Words count by their rarity among the cards; those that no card has count most.
    """
    words = [word for word in dict.fromkeys(tokens) if word not in STOP_WORDS]
    if not words or not contacts:
        return {}
    cards = _card_index(contacts)
    said, total = dict[int, float](), 0.0
    for word in words:
        having: list[int] = cards.scores([word]).nonzero()[0].tolist()
        rarity = math.log((len(contacts) + 1) / max(len(having), 1))
        total += rarity
        for index in having:
            said[index] = said.get(index, 0.0) + rarity
    return {index: weight / total for index, weight in said.items()} if total else {}


@lru_cache(maxsize=64)
def _card_index(contacts: tuple[Contact, ...]) -> LexicalIndex:
    return LexicalIndex([tokenize(_searched_text(contact)) for contact in contacts])


def _searched_text(contact: Contact) -> str:
    """All that a card says, with what its fields are called."""
    about = {"relation": contact.relation, "phone number": contact.phone, "email address": contact.email}
    more = {name: value for name, value in contact.more.items() if name != "uid"}
    text = to_text({"name": contact.name, **about, **more})[:_MAX_CARD]
    return f"{text} {gloss(text)}"
