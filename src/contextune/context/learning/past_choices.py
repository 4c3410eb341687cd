"""Past choices: which items the user took or rejected for similar requests, from their feedback."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property, partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Embedder, Matrix, embed_items
from contextune.search import tokenize
from contextune.search.request_text import canonical_request
from contextune.store import Store
from contextune.types import Feedback, local_time

CHOSEN = "you chose it for a similar request"
_MIN_SIMILARITY, _FULL_SIMILARITY = 0.8, 0.95
"""Feedback on another request counts from the first similarity on, and fully from the second."""
_MIN_SHARED_WORDS, _ALL_SHARED_WORDS = 0.7, 0.9
"""The same for the share of words in common, where vectors cannot tell."""
_FADING = 0.5
"""The share of earlier feedback that the next feedback on the same request takes away."""
_MIN_DIFFERENCE = 0.5
"""Between the judgements of two items that change places."""
_MAX_FEEDBACK = 500
"""Only the latest is used."""
_MAX_USERS = 500
"""Users whose feedback is kept in memory."""


@dataclass(frozen=True, eq=False)
class PastChoices:
    """Feedback on the items of earlier requests, oldest first."""

    feedback: Sequence[Feedback]
    embed: Callable[[Sequence[str]], Matrix]

    @cached_property
    def vectors(self) -> Matrix:
        """The vectors of the requests' texts."""
        return self.embed([canonical_request(entry.request.text) for entry in self.feedback])

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        return [frozenset(tokenize(canonical_request(entry.request.text))) for entry in self.feedback]

    def judge(self, query: Matrix, now: datetime, zone: tzinfo | None) -> dict[str, float]:
        """By id, items that were right (positive) or wrong (negative) for requests like this one.

        What was said last counts most: one correction, or two other choices, outweigh all earlier ones.
        """
        width = _FULL_SIMILARITY - _MIN_SIMILARITY
        return self._judge(np.clip((self.vectors @ query - _MIN_SIMILARITY) / width, 0, 1), now, zone)

    def judge_by_words(self, text: str, now: datetime, zone: tzinfo | None) -> tuple[dict[str, float], bool]:
        """The same for requests of the same words, else of nearly the same; and whether they are the same."""
        words = frozenset(tokenize(canonical_request(text)))
        shared = np.array([2 * len(words & other) / max(1, len(words) + len(other)) for other in self._words])
        if judged := self._judge((shared == 1).astype(np.float64), now, zone):
            return judged, True
        width = _ALL_SHARED_WORDS - _MIN_SHARED_WORDS
        return self._judge(np.clip((shared - _MIN_SHARED_WORDS) / width, 0, 1), now, zone), False

    def _judge(self, weights: NDArray[np.floating], now: datetime, zone: tzinfo | None) -> dict[str, float]:
        judged: dict[str, float] = {}
        for number in np.flatnonzero(weights).tolist():
            entry, weight = self.feedback[number], float(weights[number])
            if local_time(entry.request.time, zone) >= local_time(now, zone):
                continue
            judged = {item: value * (1 - _FADING * weight) for item, value in judged.items()}
            for items, vote in ((entry.used, weight), (entry.rejected, -weight)):
                for item in items:
                    judged[item] = judged.get(item, 0.0) + vote
        return judged


def prefer_chosen(ranked: Sequence[str], judged: Mapping[str, float], said: Sequence[float]) -> list[int]:
    """The numbers of the ranked items in a new order: of the judged ones, those judged better come first.

    The judged items change places with each other, all others stay. `said` is how much the request says of
    each ranked item: none passes one of which it says more.
    """
    places = [place for place, item in enumerate(ranked) if item in judged]
    order: list[int] = []
    for place in places:
        ahead = len(order)
        while ahead and _passes(ranked, judged, said, place, order[ahead - 1]):
            ahead -= 1
        order.insert(ahead, place)
    result = list(range(len(ranked)))
    for place, number in zip(places, order, strict=True):
        result[place] = number
    return result


def _passes(
    ranked: Sequence[str], judged: Mapping[str, float], said: Sequence[float], item: int, other: int
) -> bool:
    difference = judged[ranked[item]] - judged[ranked[other]]
    return difference >= _MIN_DIFFERENCE and said[item] >= said[other]


class PastChoicesReader:
    """Reads the feedback of users; keeps the vectors of the last ones in memory."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._known: OrderedDict[str, PastChoices] = OrderedDict()
        self._lock = Lock()

    def read(self, user: str) -> PastChoices:
        """The current feedback of a user."""
        # a text such as "and the one before?" says nothing without its conversation
        feedback = [
            entry
            for entry in self._store.feedback(user)
            if (entry.used or entry.rejected) and not entry.request.history
        ][-_MAX_FEEDBACK:]
        with self._lock:
            known = self._known.get(user)
        if known is None or known.feedback != feedback:
            known = PastChoices(
                feedback, partial(embed_items, embedder=self._embedder, store=self._store, user=user)
            )
        with self._lock:
            self._known[user] = known
            self._known.move_to_end(user)
            while len(self._known) > _MAX_USERS:
                self._known.popitem(last=False)
        return known

    def forget(self, user: str) -> None:
        """Drop a user from memory."""
        with self._lock:
            self._known.pop(user, None)
