"""How sure a mean is, and how sure a difference: bootstrap intervals and a paired randomisation test.

Queries of one persona are alike, so a hundred of them say less than a hundred strangers' would. Given
`groups`, both methods therefore treat each group as one draw. Neither assumes a distribution; both are
deterministic.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CHUNK = 4_000_000  # numbers drawn at a time: bounds the memory whatever the number of queries


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds it lies within at the level asked for.

    The bounds are NaN where there was only one value or group to resample: it says nothing about the spread,
    and a width of 0 would claim certainty.
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
    """The percentile bootstrap interval of the mean; whole `groups`, one label per value, are redrawn."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level!r}")
    array = _checked(values)
    sums, sizes = _grouped(array, groups)
    mean = float(array.mean())
    if len(sums) == 1:
        return Interval(mean, math.nan, math.nan)
    rng = np.random.default_rng(seed)
    means: list[Floats] = []
    for count in _chunks(samples, len(sums)):
        drawn = rng.integers(len(sums), size=(count, len(sums)))
        # groups differ in size, so the number of values differs from one redraw to the next
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

    If the two were alike, each difference could as well have the other sign; p is the share of random signs
    that give a difference at least as large as the one seen. With `groups`, a group's differences flip
    together.
    """
    first, second = _checked(a), _checked(b)
    if len(first) != len(second):
        raise ValueError(
            f"a paired test needs as many values in b as in a, not {len(first)} and {len(second)}"
        )
    sums, _ = _grouped(first - second, groups)
    total = sums.sum()
    # flipped sums that equal the observed one on paper may miss it by rounding and must still count
    bound = abs(total) - 1e-12 * np.abs(sums).sum()
    sums = sums[sums != 0]  # most queries often do not differ at all, and zeros have no sign to flip
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
        raise ValueError(f"values must be a list of at least one number, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"values must be finite, not {float(array[~np.isfinite(array)][0])!r}")
    return array


def _grouped(values: Floats, groups: Sequence[str] | None) -> tuple[Floats, Floats]:
    if groups is None:
        return values, np.ones_like(values)
    if len(groups) != len(values):
        raise ValueError(f"every value needs a group: {len(values)} values, {len(groups)} groups")
    _, place = np.unique(np.asarray(groups), return_inverse=True)
    sums = np.bincount(place, weights=values)
    return sums.astype(np.float64), np.bincount(place).astype(np.float64)


def _chunks(samples: int, width: int) -> Iterator[int]:
    if samples < 1:
        raise ValueError(f"samples must be at least 1, not {samples!r}")
    step = max(1, _CHUNK // max(1, width))
    for start in range(0, samples, step):
        yield min(step, samples - start)
