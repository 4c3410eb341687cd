"""Thresholds of `fits` for a share of false refusals, chosen on labelled requests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from contextune.errors import InvalidDataError
from contextune.evaluate.stats import Interval, bootstrap

FALSE_REFUSALS = (0.05, 0.1)
"""Shares of the served requests that may be refused, for which thresholds are printed."""
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class FitThreshold:
    """A threshold of `fits`, and what it refuses."""

    min_fit: float
    allowed: float
    """The share of the served requests that may be refused."""
    false_refusals: Interval
    """The share of them that is refused."""
    refusals: Interval | None
    """The share of the unserved requests that is refused; None without any."""

    def __str__(self) -> str:
        """The threshold, and the measured shares with their intervals, in percent."""
        unserved = f", {_percent(self.refusals)} % of those that no tool serves" if self.refusals else ""
        return (
            f"--min-fit {self.min_fit:g} refuses {_percent(self.false_refusals)} % of the requests that a"
            f" tool serves{unserved}"
        )


def fit_thresholds(
    served: Sequence[float], unserved: Sequence[float], shares: Sequence[float] = FALSE_REFUSALS
) -> list[FitThreshold]:
    """The highest threshold for each share of `served` that may be refused.

    `served` and `unserved` are `fits` of the requests that a tool serves, and of those that none does.
    """
    if not served:
        raise InvalidDataError("no request is served by a tool: there is nothing to choose a threshold on")
    return [_threshold(sorted(served), unserved, share) for share in shares]


def _threshold(served: Sequence[float], unserved: Sequence[float], share: float) -> FitThreshold:
    count = math.floor(share * len(served) + 1e-9)
    # rounded down, so that the printed value refuses no more than the exact one
    min_fit = _round_down(served[min(count, len(served) - 1)])
    return FitThreshold(
        min_fit,
        share,
        bootstrap([float(fits < min_fit) for fits in served]),
        bootstrap([float(fits < min_fit) for fits in unserved]) if unserved else None,
    )


def _round_down(value: float) -> float:
    """The value to a few significant digits, not above it."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - _DIGITS + 1)
    rounded = math.floor(value / unit) * unit
    return float(f"{rounded:.{_DIGITS}g}")


def _percent(interval: Interval) -> str:
    bounds = "" if math.isnan(interval.low) else f" ({100 * interval.low:.0f} to {100 * interval.high:.0f})"
    return f"{100 * interval.mean:.1f}{bounds}"
