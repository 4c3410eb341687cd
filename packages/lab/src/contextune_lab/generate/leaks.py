"""Detect queries that give an item away by sharing rare words with it."""

from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache

from contextune.datasets import Persona, Query, bundled_pairs, training_pairs
from contextune.search import tokenize

_MAX_ITEMS = 2
"""Maximum number of items that contain a rare word."""
_MIN_COMMON = 4
"""Texts that have a common word, at least."""
_MIN_SHARED = 2
"""Shared rare words that give an item away; one suffices if it is in the title."""


@cache
def common_words() -> Mapping[str, int]:
    """Common words, and how many texts of the bundled pairs have them."""
    pairs = [*bundled_pairs(), *training_pairs()]
    texts = (text for pair in pairs for text in (pair.query, *(item.text for item in pair.items)))
    counts = Counter(word for text in texts for word in set(tokenize(text)))
    return {word: count for word, count in sorted(counts.items()) if count >= _MIN_COMMON}


def leaks(persona: Persona, query: Query) -> dict[str, list[str]]:
    """The words by which keyword search would find a needed item, by item id."""
    common = common_words()
    item_counts = Counter(word for item in persona.items for word in _words(item.text))
    words = {word for word in tokenize(query.text) if word not in common and not word.isdigit()}
    words = {word for word in words if item_counts[word] <= _MAX_ITEMS}
    leaked: dict[str, list[str]] = {}
    for item in persona.items:
        if (query.gold.relevant or {}).get(item.id, 0) < 2:
            continue  # items that only help may be named
        shared = words & _words(item.text)
        if words & _words(item.title) or len(shared) >= _MIN_SHARED:
            leaked[item.id] = sorted(shared)
    return leaked


@lru_cache(maxsize=256)  # every item is tokenized once per query
def _words(text: str) -> frozenset[str]:
    return frozenset(tokenize(text))
