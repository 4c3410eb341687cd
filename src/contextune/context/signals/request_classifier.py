"""Reads out of a request's vector which kind of thing it leaves out and which applications it speaks of.

Two linear heads and the vectors of known tools. They put into a few numbers what a chain of
thought would say, for the price of a small matrix product.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.scene import RequestClasses
from contextune.context.signals.utterance import KINDS
from contextune.errors import RankerError
from contextune.rank.logistic import sigmoid
from contextune.types.app_schema import APPS

Matrix = NDArray[np.float32]
_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class RequestClassifier:
    """The heads: a row a kind or application, a column a dimension, and one more for the constant."""

    kinds: Matrix
    apps: Matrix
    tools: Matrix
    """A row a tool."""
    tool_apps: tuple[str, ...]

    def read(self, situated: Matrix, bare: Matrix) -> RequestClasses:
        """From the vectors of one request, with and without its time and place."""
        vector = np.append(situated, np.float32(1))
        kinds, apps = softmax(self.kinds @ vector), sigmoid(self.apps @ vector)
        return reading(kinds, apps, self.tools @ bare, self.tool_apps)

    @classmethod
    def fit(
        cls,
        vectors: Matrix,
        kinds: Sequence[str],
        apps: Sequence[Sequence[str]],
        tools: Matrix,
        tool_apps: Sequence[str],
    ) -> "RequestClassifier":
        """Heads for vectors of any embedder, by logistic regression."""
        with_one = np.hstack([vectors, np.ones((len(vectors), 1), np.float32)]).astype(np.float64)
        of_kind = np.array([[kind == name for name in KINDS] for kind in kinds], np.float64)
        of_app = np.array([[name in found for name in APPS] for found in apps], np.float64)
        return cls(
            _fitted(with_one, of_kind, exclusive=True),
            _fitted(with_one, of_app, exclusive=False),
            tools,
            tuple(tool_apps),
        )

    def save(self, file: Path) -> None:
        """Write it to a `.npz` file."""
        arrays: dict[str, Any] = {
            "kinds": self.kinds.astype(np.float16),
            "apps": self.apps.astype(np.float16),
            "tools": self.tools.astype(np.float16),
            "tool_apps": np.array(self.tool_apps),
        }
        np.savez(file, **arrays)

    @classmethod
    def load(cls, file: Path) -> "RequestClassifier":
        """The reader in a file."""
        try:
            with np.load(file, allow_pickle=False) as found:
                kinds, apps, tools = (found[name].astype(np.float32) for name in ("kinds", "apps", "tools"))
                return cls(kinds, apps, tools, tuple(map(str, found["tool_apps"])))
        except (OSError, KeyError, ValueError) as error:
            raise RankerError(f"{file}: is no reader of requests: {error}") from None


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Shares that add up to one, along the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def reading(
    kinds: NDArray[Any], apps: NDArray[Any], tools: NDArray[Any], tool_apps: Sequence[str]
) -> RequestClasses:
    """The numbers of the heads, and the likeness to each tool, by name."""
    nearest: dict[str, float] = {}
    for app, like in zip(tool_apps, tools.tolist(), strict=True):
        nearest[app] = max(like, nearest.get(app, -1.0))
    return RequestClasses(
        dict(zip(KINDS, kinds.tolist(), strict=True)), dict(zip(APPS, apps.tolist(), strict=True)), nearest
    )


def _fitted(rows: NDArray[np.float64], labels: NDArray[np.float64], *, exclusive: bool) -> Matrix:
    """Logistic regression with a small ridge; `exclusive` if exactly one label is right."""
    from scipy import optimize  # slow to import, and only training needs it

    shape = labels.shape[1], rows.shape[1]
    scale = 4.0  # unit vectors are short for a ridge of this size

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = flat.reshape(shape)
        logits = scale * rows @ weights.T
        if exclusive:
            given = softmax(logits)
            value = -np.sum(labels * np.log(given + 1e-12)) / len(rows)
        else:
            given = sigmoid(logits)
            value = np.sum(np.logaddexp(0, logits) - labels * logits) / len(rows)
        slope = scale * (given - labels).T @ rows / len(rows) + _RIDGE * weights
        return float(value + _RIDGE / 2 * np.sum(weights**2)), slope.ravel()

    found: Any = cast("Any", optimize).minimize(
        loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 80}
    )
    return (scale * found.x.reshape(shape)).astype(np.float32)
