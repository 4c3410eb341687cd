"""How well probabilities tell cases apart, and whether they mean what they say."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.search import rank_by_score

Floats = NDArray[np.float64]
_BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Cases of similar predicted probability, and the share of them that were true."""

    predicted: float
    observed: float
    count: int
    weight: float = 0.0
    """Total weight of the cases; 0 if each counts once."""


def reliability_bins(
    labels: NDArray[np.bool_], probabilities: Floats, weights: Floats | None = None
) -> list[ReliabilityBin]:
    """Ten bins of equal width, without those that are empty."""
    weights = np.ones(len(labels)) if weights is None else weights
    bin_of = np.minimum((probabilities * _BINS).astype(int), _BINS - 1)
    bins: list[ReliabilityBin] = []
    for number in range(_BINS):
        mask = bin_of == number
        if total := float(weights[mask].sum()):
            predicted, observed = (
                float(weights[mask] @ values[mask]) / total for values in (probabilities, labels)
            )
            bins.append(ReliabilityBin(predicted, observed, int(mask.sum()), total))
    return bins


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Expected calibration error."""
    weights = [bucket.weight or bucket.count for bucket in bins]
    errors = [abs(bucket.predicted - bucket.observed) for bucket in bins]
    return sum(map(operator.mul, weights, errors)) / sum(weights)


def auroc(labels: NDArray[np.bool_], scores: Floats) -> float:
    """Area under the ROC curve, ties counting half."""
    low, high = rank_by_score(scores), len(scores) + 1 - rank_by_score(-scores)
    middle = len(scores) + 1 - (low + high) / 2
    ones, zeros = int(labels.sum()), int((~labels).sum())
    return float((middle[labels].sum() - ones * (ones + 1) / 2) / (ones * zeros))
