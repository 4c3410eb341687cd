"""People: whom the request speaks of, by name or by relation, and who has to do with an item."""

from functools import lru_cache

import numpy as np

from contextune.context.signals.columns import Floats
from contextune.context.signals.scene import Columns, Scene, flat

_SAME = (
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
_IDLE = frozenset(["the", "and", "of", "at", "my", "s", "in", "law", "for", "a"])

FEATURES = {
    "people.named": "words of the request that name a person involved in the item",
    "people.relation": "words of the request that say what a person involved is to the user (my sister)",
    "people.mention named": "words of the request that name a person the item mentions",
    "people.mention relation": "words of the request that say what a mentioned person is to the user",
    "people.anyone named": "1 if the request names any contact",
    "people.anyone related": "1 if the request speaks of any contact by relation",
    "people.count": "number of people in the item",
    "people.known": "number of contacts involved",
    "people.frequency": "in how many candidates the most frequent of them takes part",
}


def measure(scene: Scene) -> Columns:
    """The features of this family."""
    people, rows = scene.facts.people, scene.rows
    named, related = _named(scene), _related(scene)
    involved, mentioned = people.involved[rows], people.mentioned[rows]
    # counted over the candidates, since items of the future must not count
    frequency = np.bincount(involved[involved >= 0], minlength=len(people.contacts)).astype(np.float64)
    return {
        "people.named": people.best(named, involved, 0),
        "people.relation": people.best(related, involved, 0),
        "people.mention named": people.best(named, mentioned, 0),
        "people.mention relation": people.best(related, mentioned, 0),
        "people.anyone named": flat(scene, bool(named.any())),
        "people.anyone related": flat(scene, bool(related.any())),
        "people.count": people.count[rows],
        "people.known": (involved >= 0).sum(1).astype(np.float64),
        "people.frequency": people.best(frequency, involved, 0),
    }


def why(scene: Scene, number: int) -> str | None:
    """Who it is that the request speaks of."""
    people, row = scene.facts.people, scene.rows[number]
    spoken = _named(scene) + _related(scene)
    for contact in map(int, [*people.involved[row], *people.mentioned[row]]):
        if contact >= 0 and spoken[contact]:
            known = people.contacts[contact]
            return (
                f"{known.name} is your {known.relation}" if known.relation else f"has to do with {known.name}"
            )
    return None


def _named(scene: Scene) -> Floats:
    return _hits(scene.facts.people.by_name, frozenset(scene.words), len(scene.facts.people.contacts))


def _related(scene: Scene) -> Floats:
    said = frozenset(word for spoken in scene.words for word in synonyms(spoken)) - _IDLE
    return _hits(scene.facts.people.by_relation, said, len(scene.facts.people.contacts))


def _hits(where: dict[str, list[int]], said: frozenset[str], contacts: int) -> Floats:
    found = np.zeros(contacts)
    for word in said & where.keys():
        found[where[word]] += 1
    return found


@lru_cache(maxsize=1024)
def synonyms(word: str) -> frozenset[str]:
    """The word, and other words for the same relation."""
    return frozenset({word}.union(*(group.split() for group in _SAME if word in group.split())))
