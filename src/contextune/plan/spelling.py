"""Spell words right that nobody knows: no dictionary, none of the user's own items, and no tool.

A word is replaced only by one that is a typing error away, and by the likeliest of those: one that the user's
items or tools have, or a frequent one of the dictionary.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from string import ascii_lowercase

from contextune._internal.assets import model_folder

_OWN = 60_000
"""How often a word of the user counts as seen in the dictionary's texts."""
_LEAST = 6_000
"""Least weight of a word that replaces another."""
_SWAPPED, _INSERTED, _DROPPED, _CHANGED = 8, 2, 2, 1
"""How much likelier than a wrong letter are two that are swapped, one that is missing, and one too many."""
_SHORT, _LONG = 4, 6
"""In shorter words only swapped letters are mended, of frequent words; in longer ones any letter."""
_LEAST_SHORT = 1_000_000
_LONGEST = 24
"""Letters of the longest word that is mended: what is tried grows with the square of its length."""
_ENDINGS = ("s", "es", "ed", "ing")
_MIN_STEM = 3
Knows = Callable[[str], bool]


def private_words(words: Iterable[str], knows: Knows) -> frozenset[str]:
    """The words that nobody knows, not even by a typing error: those of the user's own language."""
    return frozenset(
        word for word in words if len(word) > _SHORT and word.isalpha() and not is_known(word, knows)
    )


def meant_word(word: str, knows: Knows) -> str | None:
    """The word that is meant by one in lower case that nobody knows; None if nothing is near, or it is long.

    `knows` says whether the user's items or tools have a word.
    """
    if len(word) > _LONGEST or not word.isascii() or not word.isalpha() or not _dictionary():
        return None
    best, most = None, (_LEAST if len(word) >= _SHORT else _LEAST_SHORT) - 1
    for other, factor in _edits(word):
        weight = factor * max(_dictionary().get(other, 0), _OWN if knows(other) else 0)
        if weight > most:
            best, most = other, weight
    return best


def is_known(word: str, knows: Knows) -> bool:
    """Whether somebody knows a word; the large dictionary is asked last."""
    stems = (word, *(word.removesuffix(ending) for ending in _ENDINGS))
    stems = [stem for stem in stems if len(stem) >= _MIN_STEM]
    if any(stem in _tokens() or knows(stem) for stem in stems):
        return True
    return any(stem in _spellings() for stem in stems)


def _edits(word: str) -> Iterator[tuple[str, int]]:
    """The words one typing error away that begin with the same letter, and how likely the error is."""
    for place in range(len(word)):
        start, end = word[:place], word[place:]
        if len(end) > 1 and end[0] != end[1]:
            yield start + end[1] + end[0] + end[2:], _SWAPPED
        if not place or len(word) < _SHORT:
            continue
        yield from ((start + letter + end, _INSERTED) for letter in ascii_lowercase)
        if len(word) >= _LONG:
            yield start + end[1:], _DROPPED
            yield from ((start + letter + end[1:], _CHANGED) for letter in ascii_lowercase)
    if len(word) >= _SHORT:
        yield from ((word + letter, _INSERTED) for letter in ascii_lowercase)


@cache
def _dictionary() -> Mapping[str, int]:
    """English words with how often they occur; empty if the library is not installed."""
    try:
        from spellchecker import SpellChecker  # only planning has it, and it loads a large file
    except ImportError:
        return {}
    return SpellChecker().word_frequency.dictionary


@cache
def _spellings() -> frozenset[str]:
    """The words of the dictionary, also without apostrophes: "doesnt"."""
    return frozenset([*_dictionary(), *(word.replace("'", "") for word in _dictionary())])


@cache
def _tokens() -> frozenset[str]:
    """Frequent words, names and brands: those that the tokenizer of the embedder does not divide."""
    tokens = json.loads((model_folder("embedder") / "tokenizer.json").read_text(encoding="utf-8"))
    return frozenset(tokens["model"]["vocab"])
