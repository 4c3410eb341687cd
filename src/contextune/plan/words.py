"""Words as they are compared: without case, accents and the ending of plurals, or one typing error apart."""

from functools import lru_cache

from contextune.plan.names import fold_accents
from contextune.search import tokenize


@lru_cache(maxsize=16384)
def folded_words(text: str) -> tuple[str, ...]:
    """The words of a text without case, accents and the ending of plurals."""
    return tuple(_stem(fold_accents(word)) for word in tokenize(text))


@lru_cache(maxsize=4096)
def folded_vocabulary(text: str) -> frozenset[str]:
    """The different words of `folded_words`; cached, since the items of a user recur in many requests."""
    return frozenset(folded_words(text))


def is_one_edit(word: str, other: str) -> bool:
    """Whether a letter more, less or changed, or two neighbours swapped, make one word the other."""
    if word == other or abs(len(word) - len(other)) > 1:
        return False
    start = next((n for n, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), None)
    if start is None:
        return True
    left, right = word[start:], other[start:]
    if len(left) != len(right):
        return left[1:] == right or left == right[1:]
    return left[1:] == right[1:] or (left[1::-1] == right[:2] and left[2:] == right[2:])


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word
