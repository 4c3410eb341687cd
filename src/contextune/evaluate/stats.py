"""Cluster bootstrap intervals, a paired randomisation test, and the correction of p-values for several tests.

Queries of one persona are not independent, so with `groups` the first two resample whole groups. Neither
assumes a distribution; both are deterministic.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CHUNK = 4_000_000  # random numbers drawn at a time, to bound memory
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence bounds.

    The bounds are NaN with a single value or group, which says nothing about the spread.
    """

    mean: float
    low: float
    high: float


def bootstrap(
    values: Floats | Sequence[float],
    *,
    groups: Sequence[str] | None = None,
    samples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The percentile bootstrap interval of the mean; `groups`, one label per value, are resampled whole."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level!r}")
    array = _checked(values)
    sums, sizes = _grouped(array, groups)
    mean = float(array.mean())
    if len(sums) == 1:
        return Interval(mean, math.nan, math.nan)
    rng = np.random.default_rng(seed)
    means: list[Floats] = []
    for count in _chunks(samples, len(sums)):
        drawn = rng.integers(len(sums), size=(count, len(sums)))
        # groups differ in size, so each sample has another number of values
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, float(low), float(high))


def paired_test(
    a: Floats | Sequence[float],
    b: Floats | Sequence[float],
    *,
    groups: Sequence[str] | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> float:
    """Two-sided p-value that a and b, measured on the same queries, have the same mean.

    Under the null hypothesis, the sign of each difference is random; p is the share of random signs with a
    total difference at least as large as the observed one. With `groups`, a group's signs flip together.
    """
    first, second = _checked(a), _checked(b)
    if len(first) != len(second):
        raise ValueError(
            f"a paired test needs as many values in b as in a, not {len(first)} and {len(second)}"
        )
    sums, _ = _grouped(first - second, groups)
    total = sums.sum()
    # flipped sums equal to the observed one must count despite rounding
    bound = abs(total) - 1e-12 * np.abs(sums).sum()
    sums = sums[sums != 0]  # zeros, often most of them, have no sign to flip
    rng = np.random.default_rng(seed)
    extreme = 0
    for count in _chunks(samples, len(sums)):
        kept = rng.integers(2, size=(count, len(sums)), dtype=np.int8)
        flipped = 2 * (kept @ sums) - total
        extreme += int((np.abs(flipped) >= bound).sum())
    return (1 + extreme) / (1 + samples)


def _checked(values: Floats | Sequence[float]) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"values must be a non-empty list of numbers, not an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"values must be finite, not {float(array[~np.isfinite(array)][0])!r}")
    return array


def _grouped(values: Floats, groups: Sequence[str] | None) -> tuple[Floats, Floats]:
    if groups is None:
        return values, np.ones_like(values)
    if len(groups) != len(values):
        raise ValueError(f"every value needs a group: {len(values)} values, {len(groups)} groups")
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    sums = np.bincount(group, weights=values)
    return sums.astype(np.float64), np.bincount(group).astype(np.float64)


def _chunks(samples: int, width: int) -> Iterator[int]:
    if samples < 1:
        raise ValueError(f"samples must be at least 1, not {samples!r}")
    step = max(1, _CHUNK // max(1, width))
    for start in range(0, samples, step):
        yield min(step, samples - start)


def holm(p_values: Mapping[K, float]) -> dict[K, float]:
    """Holm's step-down adjustment: compare the result with the level of a single test.

    With twenty tests, one is below 0.05 by chance. Adjusted, the probability of even one false finding is
    at most the level, whether or not the tests are independent.
    """
    adjusted: dict[K, float] = {}
    largest = 0.0
    for rank, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[key]))
        adjusted[key] = largest
    return {key: adjusted[key] for key in p_values}
