"""Misspelt words of a request, as the titles of items spell them: "shoping" is "shopping"."""

from collections.abc import Iterable

_MIN_LETTERS = 5
"""Shorter words that differ in one letter are mostly different words."""


def respelled(word: str, known: Iterable[str]) -> str:
    """The only known word that a word misspells, or the word itself."""
    if len(word) < _MIN_LETTERS or not word.isalpha():
        return word
    near = {other for other in known if len(other) >= _MIN_LETTERS and is_one_edit(word, other)}
    return near.pop() if len(near) == 1 else word


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
