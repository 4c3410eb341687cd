"""Other spellings and endings of a query word among the terms of an index, for words beyond plain ASCII.

Accents are searched asymmetrically (Unicode Technical Standard 10, section 8.2): "jose" finds "josé", since
many people type without accents, but "josé" finds "jose" only if no document has "josé". Words of other
alphabets also find words that differ in their last letters only, at half the weight: "книгу" finds "книга".
Stemmers would need the language, which a short text does not tell.

A query and documents in plain ASCII have no variants.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from copy import copy

ENDING_WEIGHT = 0.5
"""Weight of a term that differs from the query word in its last letters."""
_STEM = 4
_ENDING = 3
_MARKS = frozenset(
    map(
        chr,
        (
            *range(0x0300, 0x0370),  # Latin, Greek, Cyrillic
            *range(0x0591, 0x05C8),  # Hebrew points
            *(*range(0x064B, 0x0660), 0x0670, *range(0x06D6, 0x06EE)),  # Arabic vowels and hamza
        ),
    )
)
"""Marks that people leave out. Vowel signs of Indic scripts and Japanese voicing marks are not among them."""
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
"""Letters without decomposition."""
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
"""How German and the Nordic languages write these letters on other keyboards."""

_ALPHABETS = re.compile("[a-z\u00df-\u06ff\u10d0-\u10ff\u1e00-\u1fff]")
"""First letters of words in Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic and Georgian script."""


def without_accents(word: str) -> str:
    """The word without the marks that people leave out: "josé" → "jose"."""
    if word.isascii():
        return word
    letters = unicodedata.normalize("NFD", word.translate(_LETTERS))
    return unicodedata.normalize("NFC", "".join(letter for letter in letters if letter not in _MARKS))


def spelling_keys(word: str) -> set[str]:
    """Keys that a word shares with every word that may be a variant of it: plain forms, and its stem."""
    keys = {without_accents(word), without_accents(word.translate(_GERMAN))}
    return keys | ({f"{without_accents(word)[:_STEM]}*"} if _inflected(word) else set())


class WordVariants:
    """Finds the variants of words among the terms of an index."""

    def __init__(self, terms: Mapping[str, int]) -> None:
        self._terms = terms
        self._by_plain: dict[str, tuple[int, ...]] = {}
        self._by_stem: dict[str, tuple[str, ...]] = {}
        self._add(terms)

    def extended(self, terms: Mapping[str, int], new: Iterable[str]) -> "WordVariants":
        """The variants among `terms`, which has the same words and `new` ones at its end."""
        variants = copy(self)
        variants._terms = terms
        if more := [word for word in new if not word.isascii()]:
            variants._by_plain, variants._by_stem = dict(self._by_plain), dict(self._by_stem)
            variants._add(more)
        return variants

    def _add(self, words: Iterable[str]) -> None:
        for word in [word for word in words if not word.isascii()]:
            for plain in {without_accents(word), without_accents(word.translate(_GERMAN))} - {word}:
                self._by_plain[plain] = (*self._by_plain.get(plain, ()), self._terms[word])
            if _inflected(word):
                stem = without_accents(word)[:_STEM]
                self._by_stem[stem] = (*self._by_stem.get(stem, ()), word)

    def weights(self, word: str) -> dict[int, float]:
        """The terms that a query word matches, with their weights; the word itself has weight 1."""
        exact = self._terms.get(word)
        matches: dict[int, float] = {} if exact is None else {exact: 1.0}
        if word.isascii():
            if accented := self._by_plain.get(word):
                matches |= dict.fromkeys(accented, 1.0)
            return matches
        plain = without_accents(word)
        if plain == word or exact is None:
            matches |= dict.fromkeys(self._by_plain.get(plain, ()), 1.0)
            if plain in self._terms:
                matches[self._terms[plain]] = 1.0
        if _inflected(word):
            for term in self._other_endings(plain):
                matches.setdefault(term, ENDING_WEIGHT)
        return matches

    def _other_endings(self, word: str) -> Iterator[int]:
        for term in self._by_stem.get(word[:_STEM], ()):
            other = without_accents(term)
            longest = max(len(word), len(other))
            if other[: longest - _ENDING] == word[: longest - _ENDING]:
                yield self._terms[term]


def _inflected(word: str) -> bool:
    """Whether the word is long enough and of an alphabet, so that its last letters may be an ending."""
    return len(word) > _STEM and not word.isascii() and _ALPHABETS.match(word) is not None
