"""Correction of p-values for several tests at once."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


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
