"""Thresholds for metrics, such as `recall@5=0.9`: they turn an evaluation into a CI gate."""

import math
import re
from dataclasses import dataclass

from contextune.errors import InvalidRequestError
from contextune.evaluate.metrics import METRICS, parse_metric
from contextune.evaluate.stats import Interval

ABSTENTION = "abstention"
"""Share of the queries without a relevant tool for which the retriever says that no tool fits."""
ACCEPTANCE = "acceptance"
"""Share of the queries with a relevant tool that are not refused: the others are false refusals."""
_ROUNDING = 1e-9  # a mean of 0.9 may come out as 0.8999999999999999


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
