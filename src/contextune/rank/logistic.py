"""Logistic regression over a few named inputs: calibrated probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.errors import MissingExtraError, RankerError

Floats = NDArray[np.float64]


def sigmoid(logits: NDArray[Any]) -> NDArray[Any]:
    """Logistic function, safe from overflow."""
    small = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1, small) / (1 + small)


@dataclass(frozen=True, eq=False)
class LogisticRegression:
    """Weights of standardized inputs; a missing input (NaN) counts as its mean."""

    names: tuple[str, ...]
    mean: Floats
    spread: Floats
    weights: Floats
    constant: float

    @classmethod
    def fit(
        cls,
        rows: NDArray[Any],
        labels: NDArray[np.bool_],
        names: Sequence[str],
        *,
        ridge: float = 1e-3,
        weights: Floats | None = None,
    ) -> "LogisticRegression":
        """Fit to rows of inputs and binary labels; both classes get the same total weight.

        `weights` say how much each row counts within its class; without them, all rows count the same.
        """
        try:
            from scipy import optimize  # slow to import, and needed for training only
        except ModuleNotFoundError as error:
            raise MissingExtraError("training a model", "train") from error

        if labels.all() or not labels.any():
            raise RankerError("only one class in the training data: give positive and negative examples")
        values = rows.astype(np.float64)
        values[:, np.isnan(values).all(axis=0)] = 0.0  # inputs that are always missing
        mean = np.nanmean(values, axis=0)
        spread = np.nanstd(values, axis=0) + 1e-6
        inputs = np.nan_to_num((values - mean) / spread)
        share: Floats = np.ones(len(labels), np.float64) if weights is None else weights
        totals: Floats = np.where(labels, float(share[labels].sum()), float(share[~labels].sum()))
        weight: Floats = share / (2 * totals)

        def loss(flat: Floats) -> tuple[float, Floats]:
            logits = inputs @ flat[:-1] + flat[-1]
            value = float(np.sum(weight * (np.logaddexp(0, logits) - labels * logits)))
            error: Floats = weight * (sigmoid(logits) - labels)
            slope = np.append(inputs.T @ error + ridge * flat[:-1], error.sum())
            return value + ridge / 2 * float(np.sum(flat[:-1] ** 2)), slope

        solution: Any = cast("Any", optimize).minimize(
            loss, np.zeros(inputs.shape[1] + 1), jac=True, method="L-BFGS-B"
        )
        return cls(tuple(names), mean, spread, solution.x[:-1], float(solution.x[-1]))

    def probability(self, rows: NDArray[Any]) -> Floats:
        """Probability of a positive label, for each row."""
        inputs = (rows.astype(np.float64) - self.mean) / self.spread
        inputs[np.isnan(inputs)] = 0.0
        if not np.isfinite(inputs).all():  # seldom, and `nan_to_num` takes longer than all the rest
            inputs = np.nan_to_num(inputs)
        return sigmoid(inputs @ self.weights + self.constant)

    def to_json(self) -> dict[str, Any]:
        """As JSON values, rounded to six digits."""
        parts = {"mean": self.mean, "spread": self.spread, "weights": self.weights}
        rounded = {name: [float(f"{value:.6g}") for value in values] for name, values in parts.items()}
        return {"names": list(self.names), **rounded, "constant": self.constant}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], names: Sequence[str]) -> "LogisticRegression":
        """Read the result of `to_json`; raise `RankerError` unless it has exactly these inputs."""
        if tuple(values["names"]) != tuple(names):
            raise RankerError("the model has other inputs than this version: train it again")
        mean, spread, weights = (np.array(values[name], np.float64) for name in ("mean", "spread", "weights"))
        return cls(tuple(names), mean, spread, weights, float(values["constant"]))
