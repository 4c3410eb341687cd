"""Rank fusion: several rankings of the same things into one."""

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

K = TypeVar("K", bound=Hashable)
RRF_K = 60
"""The constant of reciprocal rank fusion, as published."""


def reciprocal_rank_fusion(
    lists: Sequence[Sequence[K]], *, weights: Sequence[float] | None = None, k: float = RRF_K
) -> list[tuple[K, float]]:
    """All entries, best first, each with its sum of weight / (k + rank) over the lists that contain it.

    (Cormack, Clarke and Büttcher, SIGIR 2009.) Ranks start at one. Duplicates in a list count once, at the
    best rank, and are removed before ranking. A list of weight zero is ignored. Ties go to the entry with
    the better single rank, then to the one listed first.
    """
    if weights is None:
        weights = [1.0] * len(lists)
    if len(weights) != len(lists):
        raise ValueError(f"{len(lists)} lists need {len(lists)} weights, got {len(weights)}")
    if not all(0 <= weight < math.inf for weight in weights):
        raise ValueError(f"weights must be finite and not negative: {list(weights)!r}")
    if not k >= 0:
        raise ValueError(f"k must not be negative: {k!r}")
    shares: dict[K, list[float]] = {}
    best: dict[K, int] = {}
    for weight, entries in zip(weights, lists, strict=True):
        if weight == 0:
            continue
        for rank, entry in enumerate(dict.fromkeys(entries), start=1):
            shares.setdefault(entry, []).append(weight / (k + rank))
            best[entry] = min(rank, best.get(entry, rank))
    # a plain sum depends on the order of the lists, which would break ties at random
    fused = [(entry, math.fsum(parts)) for entry, parts in shares.items()]
    return sorted(fused, key=lambda pair: (-pair[1], best[pair[0]]))


def interleave(lists: Sequence[Sequence[K]]) -> list[K]:
    """Round-robin merge without duplicates (Kachuee et al.: one list for each generated query).

    A list whose next entry is already in the result continues to its next new entry in the same turn.
    """
    merged: dict[K, None] = {}
    pending = [iter(entries) for entries in lists]
    while pending:
        remaining: list[Iterator[K]] = []
        for entries in pending:
            for entry in entries:
                if entry not in merged:
                    merged[entry] = None
                    remaining.append(entries)
                    break
        pending = remaining
    return list(merged)


def rank_by_score(scores: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
    """Rank of each score, one for the highest; equal scores share the best rank: 1, 2, 2, 4.

    For fusing signals with many ties: `weight / (k + rank_by_score(scores))` is the share of one signal, and
    the order of the array does not decide ties.
    """
    if np.isnan(scores).any():
        raise ValueError("scores must not contain NaN")
    return np.searchsorted(np.sort(-scores), -scores, side="left") + 1
