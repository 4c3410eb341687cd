"""Score how well passages answer a request: the reading model, beside the words that both share."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from contextune.context.excerpt import TokenWeights
from contextune.errors import ContextuneError

PassageScorer = Callable[[str, Sequence[str]], Sequence[float]]
"""Gives each passage a score beside a request, both as `contextune.reading.texts` writes them."""
_FACT = 0.2
"""What a number is worth where passages share the same words with the request."""


def shared_words(request: str, passages: Sequence[str]) -> list[float]:
    """Score passages by the words they share with the request; rare words count more."""
    weights = TokenWeights(request, passages)
    return [weights.weigh(passage) + _FACT * any(char.isdigit() for char in passage) for passage in passages]


def score_alike(request: str, passages: Sequence[str]) -> list[float]:
    """The scorer without a model, which leaves the choice to the shared words."""
    del request
    return [0.0] * len(passages)


@cache
def default_scorer() -> PassageScorer:
    """The reading model; `score_alike` if it is not installed."""
    try:
        model: Any = import_module("contextune.reading.model").default_reading_model()
    except (ImportError, ContextuneError, OSError):
        return score_alike

    def score(request: str, passages: Sequence[str]) -> list[float]:
        return [float(odds) for odds in model.score_items(request, passages)]

    return score
