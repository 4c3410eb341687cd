"""Several rankings of the same things → one."""

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

K = TypeVar("K", bound=Hashable)


def reciprocal_rank_fusion(
    lists: Sequence[Sequence[K]], *, weights: Sequence[float] | None = None, k: float = 60
) -> list[tuple[K, float]]:
    """Every thing listed, best first, with the sum of weight / (k + rank) over the lists it stands in.

    (Cormack, Clarke and Büttcher, SIGIR 2009.) Ranks start at one. A thing that one list
    names twice counts once, at its best rank, and those behind it close up. A list of weight
    zero is left out altogether: it brings in nothing of its own. Of equal sums the thing with the better
    single rank comes first, then the one that was listed first.
    """
    if weights is None:
        weights = [1.0] * len(lists)
    if len(weights) != len(lists):
        raise ValueError(f"{len(lists)} lists need as many weights, not {len(weights)}")
    if not all(0 <= weight < math.inf for weight in weights):
        raise ValueError(f"weights must be finite and not negative, but are {list(weights)!r}")
    if not k >= 0:
        raise ValueError(f"k must not be negative, but is {k!r}")
    shares: dict[K, list[float]] = {}
    best: dict[K, int] = {}
    for weight, things in zip(weights, lists, strict=True):
        if weight == 0:
            continue
        for rank, thing in enumerate(dict.fromkeys(things), start=1):
            shares.setdefault(thing, []).append(weight / (k + rank))
            best[thing] = min(rank, best.get(thing, rank))
    # fsum, because a plain sum depends on the order of the lists and would turn ties into accidents
    fused = [(thing, math.fsum(parts)) for thing, parts in shares.items()]
    return sorted(fused, key=lambda pair: (-pair[1], best[pair[0]]))


def interleave(lists: Sequence[Sequence[K]]) -> list[K]:
    """One thing from each list in turn, each thing once (Kachuee et al.: one list for each generated query).

    A list whose next thing was already taken goes on to its next new one in the same turn,
    so that no list loses its turn by agreeing with the others.
    """
    taken: dict[K, None] = {}
    waiting = [iter(things) for things in lists]
    while waiting:
        still: list[Iterator[K]] = []
        for things in waiting:
            for thing in things:
                if thing not in taken:
                    taken[thing] = None
                    still.append(things)
                    break
        waiting = still
    return list(taken)


def rank_by_score(scores: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
    """The rank of each score, one for the highest; equal scores share the best of their ranks: 1, 2, 2, 4.

    For fusing signals most things tie on: `weight / (k + rank_by_score(scores))` is one
    signal's share, and no tie is decided by the order of the array.
    """
    if np.isnan(scores).any():
        raise ValueError("a NaN score has no rank")
    return np.searchsorted(np.sort(-scores), -scores, side="left") + 1
