"""Weights for reciprocal rank fusion, chosen by grid search."""

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
    """Weight of each list, and the constant `k` of reciprocal rank fusion."""

    weights: Mapping[str, float]
    k: float

    def fuse(self, lists: Mapping[str, Floats]) -> Floats:
        """Fused score of each candidate from its score in each list; equal scores share a rank."""
        ranks = {name: rank_by_score(scores) for name, scores in lists.items() if self.weights.get(name)}
        return np.sum([self.weights[name] / (self.k + rank) for name, rank in ranks.items()], axis=0)

    @classmethod
    def choose(
        cls,
        examples: Sequence[tuple[Mapping[str, Floats], NDArray[np.int64]]],
        grid: Mapping[str, Sequence[float]],
        ks: Sequence[float],
    ) -> "FusionWeights":
        """The weights of the grid with the best mean of recall@3, @5 and @10; ties go to the first."""
        table = _RankTable.from_examples(examples, list(grid))
        best_quality, best = -1.0, None
        for k in ks:
            shares = {name: 1 / (k + ranks) for name, ranks in table.ranks.items()}
            for values in product(*grid.values()):
                fused = sum((weight * shares[name] for name, weight in zip(grid, values, strict=True)), _ZERO)
                if (quality := table.quality(fused)) > best_quality + 1e-9:
                    best_quality, best = quality, cls(dict(zip(grid, values, strict=True)), k)
        if best is None:
            raise ValueError("the grid is empty: give at least one value of k and one weight per list")
        return best


_ZERO = np.zeros((1, 1))


@dataclass(frozen=True)
class _RankTable:
    """All examples as matrices, one row each, so that a set of weights is evaluated in a few operations."""

    ranks: Mapping[str, Floats]
    relevant: NDArray[np.bool_]
    filled: NDArray[np.bool_]

    @classmethod
    def from_examples(
        cls, examples: Sequence[tuple[Mapping[str, Floats], NDArray[np.int64]]], names: Sequence[str]
    ) -> "_RankTable":
        shape = len(examples), max(len(grades) for _, grades in examples)
        ranks = {name: np.full(shape, np.inf) for name in names}
        relevant = np.zeros(shape, bool)
        for row, (lists, grades) in enumerate(examples):
            relevant[row, : len(grades)] = grades > 0
            for name in names:
                ranks[name][row, : len(grades)] = rank_by_score(lists[name])
        return cls(ranks, relevant, ~np.isinf(ranks[names[0]]))

    def quality(self, fused: Floats) -> float:
        """Mean of recall@3, @5 and @10."""
        order = np.argsort(np.where(self.filled, -fused, np.inf), axis=1, kind="stable")[:, : max(_DEPTHS)]
        hits = np.take_along_axis(self.relevant, order, axis=1)
        total = self.relevant.sum(1)
        return float(np.mean([hits[:, :depth].sum(1) / total for depth in _DEPTHS]))
