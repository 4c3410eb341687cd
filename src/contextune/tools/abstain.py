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
    "meaning in catalogue",
    "words share",
    "said in name",
    "in context",
    "item",
    "item app",
    "app likely",
    "past",
)
"""Features whose maximum over all candidates is an input."""
_OF_TOP = (
    "meaning in catalogue",
    "words share",
    "hybrid",
    "name said",
    "app said",
    "in context",
    "item app",
    "app likely",
    "app best",
    "past",
)
"""Features of the top-ranked tool that are inputs."""
FIT_INPUTS: tuple[str, ...] = (
    *(f"best {name}" for name in _BEST_OF_ALL),
    *(f"first {name}" for name in _OF_TOP),
    "second meaning in catalogue",
    "tenth meaning in catalogue",
    "ahead of second",
    "ahead of tenth",
    "words rank of nearest",
    "meaning rank of best words",
    "meaning rank of first",
    "words rank of first",
    "lead",
    "lead over sixth",
    "has context",
    "length",
)
"""Every input is relative to the request or the catalogue, except for one: the size and the style of a
catalogue say nothing about whether it has the right tool."""
_COLUMN = {name: number for number, name in enumerate(FEATURE_NAMES)}


def fit_inputs(matrix: Matrix, scores: Floats) -> Floats:
    """The inputs of the `fits` model, from the candidates' features and scores."""
    if not len(matrix):
        return np.zeros(len(FIT_INPUTS))

    def column(name: str) -> NDArray[np.float32]:
        return matrix[:, _COLUMN[name]]

    order = np.argsort(-scores, kind="stable")
    first = matrix[order[0]]
    best = np.fmax.reduce(matrix)  # NaN only where a feature is missing for all
    relative = np.sort(column("meaning in catalogue"))[::-1]
    meaning = np.sort(column("meaning"))[::-1]
    sorted_scores = np.sort(scores)[::-1]
    last = len(matrix) - 1
    # equal scores are ordered by another feature, so that the order of the candidates does not matter
    nearest = matrix[np.lexsort((-column("words"), -column("meaning")))[0]]
    best_words = matrix[np.lexsort((-column("meaning"), -column("words")))[0]]
    values = [best[_COLUMN[name]] for name in _BEST_OF_ALL]
    values += [first[_COLUMN[name]] for name in _OF_TOP]
    values += [
        relative[min(1, last)],
        relative[min(9, last)],
        meaning[0] - meaning[min(1, last)],
        meaning[0] - meaning[min(9, last)],
        np.log1p(nearest[_COLUMN["words rank"]]),
        np.log1p(best_words[_COLUMN["meaning rank"]]),
        np.log1p(first[_COLUMN["meaning rank"]]),
        np.log1p(first[_COLUMN["words rank"]]),
        sorted_scores[0] - sorted_scores[min(1, last)],
        sorted_scores[0] - sorted_scores[min(5, last)],
        float(not np.isnan(first[_COLUMN["in context"]])),
        np.log1p(first[_COLUMN["length"]]),
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
