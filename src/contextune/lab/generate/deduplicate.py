"""What was written before, so that nothing is written twice."""

from collections.abc import Iterable
from threading import Lock

from contextune.search import tokenize

ALIKE = 0.75
"""Texts that share this much of their words say the same."""


class NearDuplicates:
    """Texts by their words. Safe to share between threads."""

    def __init__(self, texts: Iterable[str] = (), *, alike: float = ALIKE) -> None:
        self._alike = alike
        self._texts: list[tuple[frozenset[str], str]] = []
        self._lock = Lock()
        for text in texts:
            self.add(text)

    def like(self, text: str) -> str | None:
        """A text from before that says the same."""
        with self._lock:
            return self._like(frozenset(tokenize(text)))

    def add(self, text: str) -> str | None:
        """Keep the text, unless one says the same: then that one, and nothing is kept."""
        said = frozenset(tokenize(text))
        with self._lock:
            if (other := self._like(said)) is not None:
                return other
            self._texts.append((said, text))
            return None

    def _like(self, said: frozenset[str]) -> str | None:
        return next((text for other, text in self._texts if likeness(said, other) >= self._alike), None)


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of all their words both have."""
    either = len(one | other)
    return len(one & other) / either if either else 1.0
