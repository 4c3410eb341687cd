"""Weights for reciprocal rank fusion, chosen on examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from contextune.search import rank_by_score

Floats = NDArray[np.float64]
_DEPTHS = (3, 5, 10)


@dataclass(frozen=True)
class FusionWeights:
    """How much each list counts, and how fast a place further down counts less."""

    weights: Mapping[str, float]
    k: float

    def fuse(self, lists: Mapping[str, Floats]) -> Floats:
        """The fused score of every candidate, given its score in each list; equal scores share a rank."""
        ranks = {name: rank_by_score(scores) for name, scores in lists.items() if self.weights.get(name)}
        return np.sum([self.weights[name] / (self.k + rank) for name, rank in ranks.items()], axis=0)

    @classmethod
    def choose(
        cls,
        examples: Sequence[tuple[Mapping[str, Floats], NDArray[np.int64]]],
        grid: Mapping[str, Sequence[float]],
        ks: Sequence[float],
    ) -> "FusionWeights":
        """The weights of the grid with the best mean recall at 3, 5 and 10; of equals, the first."""
        table = _RankTable.of(examples, list(grid))
        best, chosen = -1.0, None
        for k in ks:
            shares = {name: 1 / (k + ranks) for name, ranks in table.ranks.items()}
            for values in product(*grid.values()):
                fused = sum((weight * shares[name] for name, weight in zip(grid, values, strict=True)), _ZERO)
                if (quality := table.quality(fused)) > best + 1e-9:
                    best, chosen = quality, cls(dict(zip(grid, values, strict=True)), k)
        if chosen is None:
            raise ValueError("an empty grid has no weights to choose from")
        return chosen


_ZERO = np.zeros((1, 1))


@dataclass(frozen=True)
class _RankTable:
    """Examples side by side, a row each, so that a whole set of weights is judged in a few operations."""

    ranks: Mapping[str, Floats]
    right: NDArray[np.bool_]
    filled: NDArray[np.bool_]

    @classmethod
    def of(
        cls, examples: Sequence[tuple[Mapping[str, Floats], NDArray[np.int64]]], names: Sequence[str]
    ) -> "_RankTable":
        shape = len(examples), max(len(grades) for _, grades in examples)
        ranks = {name: np.full(shape, np.inf) for name in names}
        right = np.zeros(shape, bool)
        for row, (lists, grades) in enumerate(examples):
            right[row, : len(grades)] = grades > 0
            for name in names:
                ranks[name][row, : len(grades)] = rank_by_score(lists[name])
        return cls(ranks, right, ~np.isinf(ranks[names[0]]))

    def quality(self, fused: Floats) -> float:
        """Mean recall at 3, 5 and 10."""
        order = np.argsort(np.where(self.filled, -fused, np.inf), axis=1, kind="stable")[:, : max(_DEPTHS)]
        hits = np.take_along_axis(self.right, order, axis=1)
        total = self.right.sum(1)
        return float(np.mean([hits[:, :depth].sum(1) / total for depth in _DEPTHS]))
