"""Reject near-duplicate texts."""

from collections.abc import Iterable
from threading import Lock

from contextune.search import tokenize

MIN_SIMILARITY = 0.75
"""Jaccard similarity from which two texts count as duplicates."""


class NearDuplicates:
    """A set of texts, searched by word overlap. Thread-safe."""

    def __init__(self, texts: Iterable[str] = (), *, min_similarity: float = MIN_SIMILARITY) -> None:
        self._min_similarity = min_similarity
        self._texts: list[tuple[frozenset[str], str]] = []
        self._lock = Lock()
        for text in texts:
            self.add(text)

    def find(self, text: str) -> str | None:
        """An earlier near-duplicate of the text."""
        with self._lock:
            return self._find(frozenset(tokenize(text)))

    def add(self, text: str) -> str | None:
        """Add the text unless it is a near-duplicate; return the earlier text in that case."""
        words = frozenset(tokenize(text))
        with self._lock:
            if (second := self._find(words)) is not None:
                return second
            self._texts.append((words, text))
            return None

    def _find(self, words: frozenset[str]) -> str | None:
        return next(
            (text for second, text in self._texts if jaccard(words, second) >= self._min_similarity), None
        )


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard similarity of two word sets."""
    either = len(first | second)
    return len(first & second) / either if either else 1.0
