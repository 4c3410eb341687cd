"""Logistic regression: a probability from a few named numbers, calibrated by how it is fitted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.errors import RankerError

Floats = NDArray[np.float64]


def sigmoid(logits: NDArray[Any]) -> NDArray[Any]:
    """The logistic function, without overflow."""
    small = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1, small) / (1 + small)


@dataclass(frozen=True, eq=False)
class LogisticRegression:
    """Weights for named inputs, each brought to mean zero and spread one; a missing one counts as mean."""

    names: tuple[str, ...]
    mean: Floats
    spread: Floats
    weights: Floats
    constant: float

    @classmethod
    def fit(
        cls, rows: NDArray[Any], labels: NDArray[np.bool_], names: Sequence[str], *, ridge: float = 1e-3
    ) -> "LogisticRegression":
        """From rows of inputs and whether each is a yes; yes and no weigh the same in all."""
        from scipy import optimize  # slow to import, and only training needs it

        if labels.all() or not labels.any():
            raise RankerError("there is nothing to tell apart: give examples of both yes and no")
        given = rows.astype(np.float64)
        mean = np.nan_to_num(np.nanmean(given, axis=0))
        spread = np.nan_to_num(np.nanstd(given, axis=0)) + 1e-6
        inputs = np.nan_to_num((given - mean) / spread)
        yes = float(labels.mean())
        weight: Floats = np.where(labels, 0.5 / yes, 0.5 / (1 - yes)) / len(labels)

        def loss(flat: Floats) -> tuple[float, Floats]:
            logits = inputs @ flat[:-1] + flat[-1]
            value = float(np.sum(weight * (np.logaddexp(0, logits) - labels * logits)))
            error: Floats = weight * (sigmoid(logits) - labels)
            slope = np.append(inputs.T @ error + ridge * flat[:-1], error.sum())
            return value + ridge / 2 * float(np.sum(flat[:-1] ** 2)), slope

        found: Any = cast("Any", optimize).minimize(
            loss, np.zeros(inputs.shape[1] + 1), jac=True, method="L-BFGS-B"
        )
        return cls(tuple(names), mean, spread, found.x[:-1], float(found.x[-1]))

    def probability(self, rows: NDArray[Any]) -> Floats:
        """Of yes, for each row."""
        inputs = np.nan_to_num((rows.astype(np.float64) - self.mean) / self.spread)
        return sigmoid(inputs @ self.weights + self.constant)

    def to_json(self) -> dict[str, Any]:
        """To be written down; six digits are plenty."""
        parts = {"mean": self.mean, "spread": self.spread, "weights": self.weights}
        rounded = {name: [float(f"{value:.6g}") for value in values] for name, values in parts.items()}
        return {"names": list(self.names), **rounded, "constant": self.constant}

    @classmethod
    def from_json(cls, found: Mapping[str, Any], names: Sequence[str]) -> "LogisticRegression":
        """What was written down; refused unless it was made for exactly these inputs."""
        if tuple(found["names"]) != tuple(names):
            raise RankerError("the model was made for other inputs than this version's: train it again")
        mean, spread, weights = (np.array(found[name], np.float64) for name in ("mean", "spread", "weights"))
        return cls(tuple(names), mean, spread, weights, float(found["constant"]))
