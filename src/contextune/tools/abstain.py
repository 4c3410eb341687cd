"""AbstentionModel: calibrated probabilities that any tool fits, and that a request needs context.

Both are logistic regressions: of the requests with `fits` = 0.8, four in five have a fitting tool. The first
reads the candidates' features, the second the request's vector.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.errors import InvalidRequestError
from contextune.rank import LogisticRegression
from contextune.tools.features import FEATURE_NAMES, Matrix
from contextune.tools.query import Floats

_BEST_OF_ALL = (
    "meaning",
    "words",
    "name said",
    "said in name",
    "in context",
    "item",
    "item app",
    "app likely",
    "past",
)
"""Features whose maximum over all candidates is an input."""
_OF_TOP = ("meaning", "words", "in context", "item app", "app likely", "app best", "past")
"""Features of the top-ranked tool that are inputs."""
FIT_INPUTS: tuple[str, ...] = (
    *(f"best {name}" for name in _BEST_OF_ALL),
    *(f"first {name}" for name in _OF_TOP),
    "second meaning",
    "tenth meaning",
    "lead",
    "has context",
    "length",
    "catalogue",
)
_COLUMN = {name: FEATURE_NAMES.index(name) for name in (*_BEST_OF_ALL, *_OF_TOP, "length", "catalogue")}


def fit_inputs(matrix: Matrix, scores: Floats) -> Floats:
    """The inputs of the `fits` model, from the candidates' features and scores."""
    if not len(matrix):
        return np.zeros(len(FIT_INPUTS))
    order = np.argsort(-scores, kind="stable")
    first = matrix[order[0]]
    best = np.nan_to_num(matrix, nan=-9.0).max(0)
    meaning = np.sort(matrix[:, _COLUMN["meaning"]])[::-1]
    sorted_scores = np.sort(scores)[::-1]
    values = [best[_COLUMN[name]] if best[_COLUMN[name]] > -9 else np.nan for name in _BEST_OF_ALL]
    values += [first[_COLUMN[name]] for name in _OF_TOP]
    values += [
        meaning[min(1, len(meaning) - 1)],
        meaning[min(9, len(meaning) - 1)],
        sorted_scores[0] - sorted_scores[min(1, len(sorted_scores) - 1)],
        float(not np.isnan(first[_COLUMN["in context"]])),
        np.log1p(first[_COLUMN["length"]]),
        first[_COLUMN["catalogue"]],
    ]
    return np.array(values, np.float64)


@dataclass(frozen=True, eq=False)
class AbstentionModel:
    """Estimates whether any tool fits a request, and whether the request needs context."""

    fits: LogisticRegression
    context: LogisticRegression
    thresholds: Mapping[str, float]
    """False-positive rate → the lowest `fits` at which a tool is offered."""

    def any_fits(self, matrix: Matrix, scores: Floats) -> float:
        """Probability that any of the candidates serves the request."""
        return float(self.fits.probability(fit_inputs(matrix, scores)[None])[0]) if len(matrix) else 0.0

    def needs_context(self, vector: NDArray[np.float32]) -> float:
        """Probability that the text alone does not say what is meant."""
        return float(self.context.probability(vector[None])[0])

    def threshold(self, false_positives: float) -> float:
        """The lowest `fits` to accept, if this share of the requests that no tool serves may get one."""
        if not 0 < false_positives < 1:
            raise InvalidRequestError(f"false_positives must be between 0 and 1, not {false_positives!r}")
        points = sorted((float(rate), value) for rate, value in self.thresholds.items())
        rates, values = [rate for rate, _ in points], [value for _, value in points]
        return float(np.interp(false_positives, rates, values))

    def to_json(self) -> dict[str, Any]:
        """The model as JSON values."""
        return {
            "fits": self.fits.to_json(),
            "context": self.context.to_json(),
            "thresholds": dict(self.thresholds),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "AbstentionModel":
        """The inverse of `to_json`."""
        width = len(data["context"]["names"])
        return cls(
            LogisticRegression.from_json(data["fits"], FIT_INPUTS),
            LogisticRegression.from_json(data["context"], context_inputs(width)),
            data["thresholds"],
        )


def context_inputs(width: int) -> tuple[str, ...]:
    """Names for the components of a vector."""
    return tuple(f"v{number}" for number in range(width))
