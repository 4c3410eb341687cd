"""Thresholds for metrics, such as `recall@5=0.9`: they turn an evaluation into a CI gate.

Thresholds of `fits` are chosen on labelled requests, for a share of false refusals.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.evaluate.metrics import METRICS, parse_metric
from contextune.evaluate.stats import Interval, bootstrap

ABSTENTION = "abstention"
"""Share of the queries without a relevant tool for which the retriever says that no tool fits."""
ACCEPTANCE = "acceptance"
"""Share of the queries with a relevant tool that are not refused: the others are false refusals."""
_ROUNDING = 1e-9  # a mean of 0.9 may come out as 0.8999999999999999
FALSE_REFUSALS = (0.05, 0.1)
"""Shares of the served requests that may be refused, for which thresholds are printed."""
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Threshold:
    """The minimum of a metric's mean, from 0 to 1."""

    metric: str
    minimum: float

    @classmethod
    def parse(cls, text: str) -> "Threshold":
        """Parse `recall@5=0.9`."""
        name, equals, value = (part.strip() for part in text.partition("="))
        if (
            not equals
            or not re.fullmatch(r"[0-9]++(?:\.[0-9]+)?|\.[0-9]+", value)
            or not 0 <= float(value) <= 1
        ):
            raise InvalidRequestError(
                f"invalid threshold {text!r}: write metric=minimum with a minimum from 0 to 1, "
                "such as recall@5=0.9"
            )
        if name not in (ABSTENTION, ACCEPTANCE):
            try:
                name = parse_metric(name.lower()).name
            except ValueError:
                names = ", ".join((*METRICS, ABSTENTION, ACCEPTANCE))
                raise InvalidRequestError(
                    f"unknown metric {name!r} in {text!r}: use one of {names}, with a number for K"
                ) from None
        return cls(name, float(value))


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """A threshold and the measured value."""

    threshold: Threshold
    measured: Interval

    @property
    def passed(self) -> bool:
        """Whether the mean reaches the threshold."""
        return self.measured.mean >= self.threshold.minimum - _ROUNDING

    def __str__(self) -> str:
        """Metric, measured value with its interval, and the distance to the threshold."""
        value, minimum = self.measured, self.threshold.minimum
        interval = "" if math.isnan(value.low) else f" ({value.low:.3f} to {value.high:.3f})"
        distance = abs(value.mean - minimum)
        side = f"{distance:.2g} {'above' if self.passed else 'below'}" if distance > _ROUNDING else "at"
        return f"{self.threshold.metric} is {value.mean:.4f}{interval}, {side} the threshold of {minimum:g}"


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
