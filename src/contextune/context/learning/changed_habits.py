"""Changed habits: of two items with the same habit, the one used more lately comes first.

The ranker knows habits of a few weeks that do not change. Between an old habit and the new one that replaces
it, its scores are nearly equal, and a word of a title would decide.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_DEPTH = 10
"""Candidates that may change places."""
_MIN_OLD, _MIN_NEW = 0.5, 2.0
"""Recent uses at such an hour and place that make a habit, of the item passed and of the one that passes."""
_LEAD = 1.4
"""How many times as often the new one is used lately."""
_MAX_DIFFERENCE = 1.0
"""Of the ranker's scores; a larger one has other reasons."""


def follow_changed_habits(
    fused: Floats, scores: Floats, habit: Floats, said: Floats, apps: Sequence[str]
) -> Floats:
    """The fused scores, exchanged among candidates so that newer habits lead.

    `habit` is the number of recent uses close to the hour and place of the request (`usage.habit`), `said`
    how much the request says of each candidate: none passes one of which it says more.
    """
    order = np.lexsort((-scores, -fused)).tolist()
    top = order[:_DEPTH]
    for place in range(1, len(top)):
        item = top[place]
        if habit[item] < _MIN_NEW:
            continue
        for before in range(place):
            leader = top[before]
            if (
                apps[item] == apps[leader]
                and said[item] >= said[leader]
                and habit[leader] >= _MIN_OLD
                and habit[item] >= _LEAD * habit[leader]
                and scores[leader] - scores[item] <= _MAX_DIFFERENCE
            ):
                top.insert(before, top.pop(place))
                break
    if top == order[:_DEPTH]:
        return fused
    moved, last = fused.copy(), np.inf
    for item, score in zip(top, fused[order[:_DEPTH]], strict=True):
        last = moved[item] = min(score, np.nextafter(last, -np.inf))  # equal scores would change places again
    return moved
