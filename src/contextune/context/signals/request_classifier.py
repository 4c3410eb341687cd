"""Request classifier: request vector → probabilities per kind of request and per application.

Two linear heads and the vectors of known tools, at the cost of a small matrix product.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune._internal.array_files import read_arrays
from contextune.context.signals.scene import RequestClasses
from contextune.context.signals.utterance import REQUEST_KINDS
from contextune.errors import MissingExtraError, RankerError
from contextune.rank.logistic import sigmoid
from contextune.types.app_schema import APPS

Matrix = NDArray[np.float32]
_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class RequestClassifier:
    """Weights of the heads: one row per class, one column per dimension, the last column is the bias."""

    kinds: Matrix
    apps: Matrix
    tools: Matrix
    """Vectors of known tools, one row each."""
    tool_apps: tuple[str, ...]
    """The application of each tool."""

    def classify(self, situated: Matrix, text: Matrix) -> RequestClasses:
        """Classify a request by its vectors, with and without its time and place."""
        vector = np.append(situated, np.float32(1))
        kinds, apps = softmax(self.kinds @ vector), sigmoid(self.apps @ vector)
        return build_request_classes(kinds, apps, self.tools @ text, self.tool_apps)

    def app_probabilities(self, situated: Matrix) -> dict[str, float]:
        """The applications of `classify` alone."""
        apps = sigmoid(self.apps @ np.append(situated, np.float32(1)))
        return dict(zip(APPS, apps.tolist(), strict=True))

    @classmethod
    def fit(
        cls,
        vectors: Matrix,
        kinds: Sequence[str],
        apps: Sequence[Sequence[str]],
        tools: Matrix,
        tool_apps: Sequence[str],
    ) -> "RequestClassifier":
        """Fit the heads by logistic regression, for vectors of any embedder."""
        with_bias = np.hstack([vectors, np.ones((len(vectors), 1), np.float32)]).astype(np.float64)
        kind_labels = np.array([[kind == name for name in REQUEST_KINDS] for kind in kinds], np.float64)
        app_labels = np.array([[name in names for name in APPS] for names in apps], np.float64)
        return cls(
            _fit_logistic(with_bias, kind_labels, exclusive=True),
            _fit_logistic(with_bias, app_labels, exclusive=False),
            tools,
            tuple(tool_apps),
        )

    def save(self, file: Path) -> None:
        """Write the classifier to a `.npz` file."""
        arrays: dict[str, Any] = {
            "kinds": self.kinds.astype(np.float16),
            "apps": self.apps.astype(np.float16),
            "tools": self.tools.astype(np.float16),
            "tool_apps": np.array(self.tool_apps),
        }
        np.savez(file, **arrays)

    @classmethod
    def load(cls, file: Path) -> "RequestClassifier":
        """Read a classifier from a `.npz` file."""
        try:
            arrays = read_arrays(file)
            kinds, apps, tools = (arrays[name].astype(np.float32) for name in ("kinds", "apps", "tools"))
            return cls(kinds, apps, tools, tuple(map(str, arrays["tool_apps"])))
        except (OSError, KeyError, ValueError) as error:
            raise RankerError(f"{file}: not a request classifier: {error}") from None


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Softmax along the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def build_request_classes(
    kinds: NDArray[Any], apps: NDArray[Any], tools: NDArray[Any], tool_apps: Sequence[str]
) -> RequestClasses:
    """Label the outputs of the heads and the similarities to the tools."""
    nearest: dict[str, float] = {}
    for app, similarity in zip(tool_apps, tools.tolist(), strict=True):
        nearest[app] = max(similarity, nearest.get(app, -1.0))
    return RequestClasses(
        dict(zip(REQUEST_KINDS, kinds.tolist(), strict=True)),
        dict(zip(APPS, apps.tolist(), strict=True)),
        nearest,
    )


def _fit_logistic(rows: NDArray[np.float64], labels: NDArray[np.float64], *, exclusive: bool) -> Matrix:
    """Ridge logistic regression; `exclusive` if exactly one label per row is right."""
    try:
        from scipy import optimize  # slow to import, and only needed for training
    except ModuleNotFoundError as error:
        raise MissingExtraError("training a model", "train") from error

    shape = labels.shape[1], rows.shape[1]
    scale = 4.0  # unit vectors are short for a ridge of this size

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = flat.reshape(shape)
        logits = scale * rows @ weights.T
        if exclusive:
            predicted = softmax(logits)
            value = -np.sum(labels * np.log(predicted + 1e-12)) / len(rows)
        else:
            predicted = sigmoid(logits)
            value = np.sum(np.logaddexp(0, logits) - labels * logits) / len(rows)
        gradient = scale * (predicted - labels).T @ rows / len(rows) + _RIDGE * weights
        return float(value + _RIDGE / 2 * np.sum(weights**2)), gradient.ravel()

    result: Any = cast("Any", optimize).minimize(
        loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 80}
    )
    return (scale * result.x.reshape(shape)).astype(np.float32)
