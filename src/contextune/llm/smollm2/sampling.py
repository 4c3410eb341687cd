"""Draws the next token from scores."""

import numpy as np
from numpy.typing import NDArray

from contextune.llm.chat import Sampling


def draw(scores: NDArray[np.float32], sampling: Sampling, chance: np.random.Generator) -> int:
    """The best at temperature 0; else by chance among the `top_k` best, and the best that make up `top_p`."""
    if sampling.temperature == 0:
        return int(scores.argmax())
    places = np.arange(len(scores))
    if 0 < sampling.top_k < len(scores):
        places = np.sort(np.argpartition(scores, -sampling.top_k)[-sampling.top_k :])
    odds = scores[places].astype(np.float64) / sampling.temperature
    odds = np.exp(odds - odds.max())
    odds /= odds.sum()
    if sampling.top_p < 1:
        # those below make up less than is left out, so only the rest is sorted
        high = odds >= (1 - sampling.top_p) / len(odds)
        places, odds = places[high], odds[high]
        order = np.argsort(-odds, kind="stable")
        upto = int(np.searchsorted(np.cumsum(odds[order]), sampling.top_p)) + 1
        places, odds = places[order[:upto]], odds[order[:upto]]
    sums = np.cumsum(odds)
    return int(places[np.searchsorted(sums, chance.random() * sums[-1], side="right")])
