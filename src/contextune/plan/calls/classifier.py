"""`ToolClassifier`: which of the tools it was trained on a request calls, from the request's vector alone.

A linear head on the embedder's vector costs microseconds. It has seen what people say when they want a tool,
while the tool ranker only knows the tool's description. Tools it does not know are left to the ranker.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.array_files import read_arrays
from contextune.context.signals.request_classifier import softmax
from contextune.errors import RankerError
from contextune.search.tokenize import identifier_words

Matrix = NDArray[np.float32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ToolClassifier:
    """Weights by tool name: one row per tool, one column per dimension, the last column is the bias."""

    names: tuple[str, ...]
    weights: Matrix

    def probabilities(self, vector: Matrix) -> dict[str, float]:
        """The probability of each known tool; they add up to 1."""
        logits = self.weights @ np.append(vector, np.float32(1))
        return dict(zip(self.names, softmax(logits.astype(np.float64)).tolist(), strict=True))

    def actions(self, probabilities: dict[str, float]) -> dict[str, float]:
        """The probability of each first word of a name, such as `delete`, which unknown tools may share."""
        actions: dict[str, float] = {}
        for name, probability in probabilities.items():
            action = self._actions[name]
            actions[action] = actions.get(action, 0.0) + probability
        return actions

    @cached_property
    def _actions(self) -> dict[str, str]:
        return {name: action_of(name) for name in self.names}

    def save(self, file: Path) -> None:
        """Write the classifier to an `.npz` file."""
        arrays: dict[str, Any] = {"names": np.array(self.names), "weights": self.weights.astype(np.float16)}
        np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, file: Path) -> "ToolClassifier":
        """Read a classifier from an `.npz` file."""
        try:
            arrays = read_arrays(file)
            return cls(tuple(map(str, arrays["names"])), arrays["weights"].astype(np.float32))
        except (OSError, KeyError, ValueError) as error:
            raise RankerError(f"{file}: not a tool classifier: {error}") from None


def action_of(name: str) -> str:
    """The first word of a tool's name, mostly a verb."""
    words: Sequence[str] = identifier_words(name)
    return words[0] if words else name
