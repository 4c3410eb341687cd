"""Feature family `people`: contacts that the request names or refers to by relation."""

from functools import lru_cache

import numpy as np

from contextune.context.signals.columns import Floats
from contextune.context.signals.scene import FeatureColumns, Scene, constant

_SYNONYMS = (
    "mother mum mom mam mama mummy mommy ma",
    "father dad papa daddy pa",
    "husband hubby",
    "wife missus",
    "sister sis",
    "brother bro",
    "grandmother gran grandma nan nana granny",
    "grandfather grandad grandpa gramps",
    "son boy lad",
    "daughter girl",
    "manager boss supervisor",
    "doctor doc gp physician",
    "partner girlfriend boyfriend fiance fiancee",
    "friend mate pal buddy",
    "teacher tutor coach instructor",
    "colleague coworker workmate",
    "landlord landlady",
    "child kid",
)
_STOP_WORDS = frozenset(["the", "and", "of", "at", "my", "s", "in", "law", "for", "a"])

FEATURES = {
    "people.named": "number of words of the request that name a person involved in the item",
    "people.relation": "number of words of the request that give the relation of a person involved",
    "people.mention named": "number of words of the request that name a person the item mentions",
    "people.mention relation": "number of words of the request that give the relation of a person mentioned",
    "people.anyone named": "1 if the request names any contact",
    "people.anyone related": "1 if the request refers to any contact by relation",
    "people.count": "number of people in the item",
    "people.known": "number of contacts involved in the item",
    "people.frequency": "number of candidates that involve the most frequent of these contacts",
}


def compute(scene: Scene) -> FeatureColumns:
    """The values of all features, one per candidate."""
    people, rows = scene.item_columns.people, scene.rows
    named, related = _name_matches(scene), _relation_matches(scene)
    involved, mentioned = people.involved[rows], people.mentioned[rows]
    # counted over the candidates only: items created later must not count
    frequency = np.bincount(involved[involved >= 0], minlength=len(people.contacts)).astype(np.float64)
    return {
        "people.named": people.max_score(named, involved, 0),
        "people.relation": people.max_score(related, involved, 0),
        "people.mention named": people.max_score(named, mentioned, 0),
        "people.mention relation": people.max_score(related, mentioned, 0),
        "people.anyone named": constant(scene, bool(named.any())),
        "people.anyone related": constant(scene, bool(related.any())),
        "people.count": people.count[rows],
        "people.known": (involved >= 0).sum(1).astype(np.float64),
        "people.frequency": people.max_score(frequency, involved, 0),
    }


def explain(scene: Scene, number: int) -> str | None:
    """The contact of the item that the request refers to."""
    people, row = scene.item_columns.people, scene.rows[number]
    matches = _name_matches(scene) + _relation_matches(scene)
    for verb, contacts in (("involves", people.involved[row]), ("mentions", people.mentioned[row])):
        for index in map(int, contacts):
            if index >= 0 and matches[index]:
                contact = people.contacts[index]
                return (
                    f"{contact.name} is your {contact.relation}"
                    if contact.relation
                    else f"{verb} {contact.name}"
                )
    return None


def _name_matches(scene: Scene) -> Floats:
    """Per contact, the number of words of the request that are part of the name."""
    people = scene.item_columns.people
    return _count_matches(people.by_name, frozenset(scene.words), len(people.contacts))


def _relation_matches(scene: Scene) -> Floats:
    """Per contact, the number of words of the request that are part of the relation, or synonyms of it."""
    people = scene.item_columns.people
    words = frozenset(synonym for word in scene.words for synonym in relation_synonyms(word)) - _STOP_WORDS
    return _count_matches(people.by_relation, words, len(people.contacts))


def _count_matches(contacts_by_word: dict[str, list[int]], words: frozenset[str], contacts: int) -> Floats:
    counts = np.zeros(contacts)
    for word in words & contacts_by_word.keys():
        counts[contacts_by_word[word]] += 1
    return counts


@lru_cache(maxsize=1024)
def relation_synonyms(word: str) -> frozenset[str]:
    """The word and all words for the same relation."""
    return frozenset({word}.union(*(group.split() for group in _SYNONYMS if word in group.split())))
