"""Score how well sentences answer a request: by the reading model, or by shared words without it."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from contextune.context.excerpt import TokenWeights
from contextune.errors import ContextuneError

SentenceScorer = Callable[[str, Sequence[str]], Sequence[float]]
"""Gives each of the sentences a score for the text of a request: the higher, the better it answers."""
_SHARED = 0.5
"""Weight of shared words beside the log odds of the reading model; chosen on worlds w01 and w05."""
_FACT = 0.2
"""What a number is worth where sentences share the same words with the request."""


def shared_words(request: str, sentences: Sequence[str]) -> list[float]:
    """Score sentences by the words they share with the request; rare words count more."""
    weights = TokenWeights(request, sentences)
    return [
        weights.weigh(sentence) + _FACT * any(char.isdigit() for char in sentence) for sentence in sentences
    ]


@cache
def default_scorer() -> SentenceScorer:
    """The reading model with shared words; these alone if it is not installed."""
    try:
        model: Any = import_module("contextune.reading.model").default_reading_model()
    except (ImportError, ContextuneError, OSError):
        return shared_words

    def score(request: str, sentences: Sequence[str]) -> list[float]:
        odds = model.score_items(f"request: {request}", sentences)
        shared = shared_words(request, sentences)
        return [float(value) + _SHARED * weight for value, weight in zip(odds, shared, strict=True)]

    return score
