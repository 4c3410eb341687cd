"""An honest "nothing fits": how probable it is that any tool serves a request, and that context is needed.

Both are logistic regressions, so what they say can be read as a share: of requests given 0.8, four in
five had a tool that fits. The first looks at the candidates, the second at the words alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.errors import InvalidRequestError
from contextune.rank import LogisticRegression
from contextune.tools.features import NAMES, Matrix
from contextune.tools.query import Floats

_BEST = (
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
"""The highest of each over all candidates."""
_OF_FIRST = ("meaning", "words", "in context", "item app", "app likely", "app best", "past")
"""The same of the tool that is ranked first."""
INPUTS: tuple[str, ...] = (
    *(f"best {name}" for name in _BEST),
    *(f"first {name}" for name in _OF_FIRST),
    "second meaning",
    "tenth meaning",
    "lead",
    "has context",
    "length",
    "catalogue",
)
_COLUMN = {name: NAMES.index(name) for name in (*_BEST, *_OF_FIRST, "length", "catalogue")}


def inputs(matrix: Matrix, scores: Floats) -> Floats:
    """What the probability that any tool fits is read off: the candidates' features, and how they score."""
    if not len(matrix):
        return np.zeros(len(INPUTS))
    order = np.argsort(-scores, kind="stable")
    first = matrix[order[0]]
    best = np.nan_to_num(matrix, nan=-9.0).max(0)
    meaning = np.sort(matrix[:, _COLUMN["meaning"]])[::-1]
    top = np.sort(scores)[::-1]
    found = [best[_COLUMN[name]] if best[_COLUMN[name]] > -9 else np.nan for name in _BEST]
    found += [first[_COLUMN[name]] for name in _OF_FIRST]
    found += [
        meaning[min(1, len(meaning) - 1)],
        meaning[min(9, len(meaning) - 1)],
        top[0] - top[min(1, len(top) - 1)],
        float(not np.isnan(first[_COLUMN["in context"]])),
        np.log1p(first[_COLUMN["length"]]),
        first[_COLUMN["catalogue"]],
    ]
    return np.array(found, np.float64)


@dataclass(frozen=True, eq=False)
class Abstain:
    """What says no."""

    fits: LogisticRegression
    context: LogisticRegression
    thresholds: Mapping[str, float]
    """By wanted share of requests that no tool serves and that yet are given one, the least probability."""

    def any_fits(self, matrix: Matrix, scores: Floats) -> float:
        """How probable it is that any of the candidates serves the request."""
        return float(self.fits.probability(inputs(matrix, scores)[None])[0]) if len(matrix) else 0.0

    def needs_context(self, vector: NDArray[np.float32]) -> float:
        """How probable it is that the words alone do not say what is meant."""
        return float(self.context.probability(vector[None])[0])

    def threshold(self, false_positives: float) -> float:
        """The probability to ask for, so that of requests no tool serves at most this share get one."""
        if not 0 < false_positives < 1:
            raise InvalidRequestError(f"a share lies between 0 and 1, not at {false_positives!r}")
        known = sorted((float(share), value) for share, value in self.thresholds.items())
        shares, values = [share for share, _ in known], [value for _, value in known]
        return float(np.interp(false_positives, shares, values))

    def to_json(self) -> dict[str, Any]:
        """To be written down."""
        return {
            "fits": self.fits.to_json(),
            "context": self.context.to_json(),
            "thresholds": dict(self.thresholds),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Abstain":
        """What was written down."""
        width = len(found["context"]["names"])
        return cls(
            LogisticRegression.from_json(found["fits"], INPUTS),
            LogisticRegression.from_json(found["context"], context_inputs(width)),
            found["thresholds"],
        )


def context_inputs(width: int) -> tuple[str, ...]:
    """The numbers of a vector, by name."""
    return tuple(f"v{number}" for number in range(width))
