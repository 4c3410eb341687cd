"""What became of a user's uses since they were last looked at: mostly, one more at the end of thousands."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.types import Use

_AT_ONCE = 1024
"""Uses compared at once: a list compares its elements faster than a loop over it does."""


@dataclass(frozen=True, eq=False)
class Since:
    """Two lists of one user's uses, each in order of time, compared."""

    kept: NDArray[np.bool_]
    """Which of the earlier ones are still there."""
    new: NDArray[np.bool_]
    """Which of those now there were not there before; the others are the kept ones, in their order."""
    items: frozenset[str]
    """Whose uses are others than before."""

    @classmethod
    def of(cls, before: Sequence[Use], now: Sequence[Use]) -> "Since":
        """Only between the first and the last difference are they looked at one by one."""
        head = _alike(before, now)
        shorter = min(len(before), len(now)) - head
        tail = _alike(before[: -shorter - 1 : -1], now[: -shorter - 1 : -1])
        old, fresh = before[head : len(before) - tail], now[head : len(now) - tail]
        was, there = set(old), set(fresh)
        kept, new = np.ones(len(before), np.bool_), np.zeros(len(now), np.bool_)
        kept[head : head + len(old)] = [use in there for use in old]
        new[head : head + len(fresh)] = [use not in was for use in fresh]
        return cls(kept, new, frozenset(use.item for use in was ^ there))


def _alike(one: Sequence[Use], other: Sequence[Use]) -> int:
    """How many at the start are the same."""
    start = 0
    while (part := one[start : start + _AT_ONCE]) and part == other[start : start + len(part)]:
        start += len(part)
    return start + next(
        (n for n, (a, b) in enumerate(zip(part, other[start : start + len(part)], strict=False)) if a != b),
        min(len(part), max(0, len(other) - start)),
    )
