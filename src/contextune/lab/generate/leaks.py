"""Words that give a request away: rare ones that it shares with the item it is to be found without."""

from collections import Counter
from functools import cache, lru_cache

from contextune.datasets import Persona, Query, bundled_pairs, training_pairs
from contextune.plan.pointer.priors import CommonWords
from contextune.search import tokenize

_RARE = 2
"""Items of a persona that a rare word stands in at most: one that stands in more tells none of them."""
_FEW = 2
"""So many rare words from the body of an item are too many; from its title, one is."""


@cache
def common_words() -> CommonWords:
    """Words that anybody uses, counted over the pairs in the package."""
    pairs = [*bundled_pairs(), *training_pairs()]
    return CommonWords.of(
        tokenize(text) for pair in pairs for text in (pair.query, *(i.text for i in pair.items))
    )


def leaks(persona: Persona, query: Query) -> dict[str, list[str]]:
    """The words by which a search by words would find what the request needs, by item."""
    common = common_words().counts
    stands_in = Counter(word for item in persona.items for word in _words(item.text))
    said = {word for word in tokenize(query.text) if word not in common and not word.isdigit()}
    said = {word for word in said if stands_in[word] <= _RARE}
    found: dict[str, list[str]] = {}
    for item in persona.items:
        if (query.gold.relevant or {}).get(item.id, 0) < 2:
            continue  # what only helps may well be named
        shared = said & _words(item.text)
        if said & _words(item.title) or len(shared) >= _FEW:
            found[item.id] = sorted(shared)
    return found


@lru_cache(maxsize=256)  # the items of a persona are looked at once for each query
def _words(text: str) -> frozenset[str]:
    return frozenset(tokenize(text))
