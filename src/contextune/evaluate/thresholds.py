"""Bars a retriever must clear: what makes a measurement a gate."""

import math
import re
from dataclasses import dataclass

from contextune.errors import InvalidRequestError
from contextune.evaluate.metrics import METRICS, metric
from contextune.evaluate.stats import Interval

ABSTENTION = "abstention"
"""The share of the requests that no tool serves of which the retriever says so."""
_ROUNDING = 1e-9  # a mean of 0.9 may come out as 0.8999999999999999


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least that a metric's mean may be, as a share of 1."""

    metric: str
    least: float

    @classmethod
    def parse(cls, text: str) -> "Threshold":
        """Read `recall@5=0.9`."""
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not re.fullmatch(r"[0-9]*\.?[0-9]+", value) or not 0 <= float(value) <= 1:
            raise InvalidRequestError(
                f"{text!r} is no bar: write metric=share with a share of 1, such as recall@5=0.9"
            )
        if name != ABSTENTION:
            try:
                name = metric(name.lower()).name
            except ValueError:
                known = ", ".join((*METRICS, ABSTENTION))
                raise InvalidRequestError(
                    f"{text!r}: there is no metric {name!r}; there are: {known}, with a number for K"
                ) from None
        return cls(name, float(value))


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """A bar, and what was measured."""

    bar: Threshold
    measured: Interval

    @property
    def holds(self) -> bool:
        """Whether the mean is at the bar or above."""
        return self.measured.mean >= self.bar.least - _ROUNDING

    def __str__(self) -> str:
        """Which bar, what was measured, and by how much it was cleared or missed."""
        seen = self.measured
        sure = "" if math.isnan(seen.low) else f" ({seen.low:.3f} to {seen.high:.3f})"
        apart = abs(seen.mean - self.bar.least)
        where = f"{apart:.2g} {'above' if self.holds else 'below'}" if apart > _ROUNDING else "at"
        return f"{self.bar.metric} is {seen.mean:.4f}{sure}, {where} the bar of {self.bar.least:g}"
