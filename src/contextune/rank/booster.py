"""Predict with a LightGBM model, without LightGBM: only training needs that.

Scores are those of LightGBM up to rounding in the last bits. onnxruntime, which runs the embedder too,
evaluates the trees.
"""

from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.rank.logistic import sigmoid
from contextune.rank.tree_model import Floats, TreeModel
from contextune.rank.tree_onnx import INPUT, OUTPUT, to_onnx
from contextune.rank.tree_shap import TreeShap


class Booster:
    """A model in LightGBM's text format. Safe to share between threads."""

    def __init__(self, model: str) -> None:
        self._text = model
        self._model = TreeModel.parse(model)
        self._constant = float(self._model.leaf[~self._model.roots[self._model.roots < 0]].sum())
        """The sum of the trees that are a single leaf."""
        self._lock = Lock()
        self.features: int = self._model.features
        """Number of features."""

    def __reduce__(self) -> tuple[Callable[[str], "Booster"], tuple[str]]:
        """Pickle the text; the session is of this process."""
        return Booster, (self._text,)

    def predict(self, matrix: NDArray[np.floating]) -> Floats:
        """The score of each row."""
        columns = self._model.columns(matrix)
        scores = np.full(len(columns), self._constant)
        if len(columns) and len(self._model.threshold):
            scores += self._session().run([OUTPUT], {INPUT: np.ascontiguousarray(columns)})[0][:, 0]
        return scores if self._model.sigmoid is None else sigmoid(self._model.sigmoid * scores)

    def contributions(self, matrix: NDArray[np.floating]) -> Floats:
        """What each feature adds to the score of each row (TreeSHAP); the last column is the mean score."""
        return self._shap.contributions(matrix)

    def _session(self) -> Any:
        with self._lock:  # so that two threads that score at once build it once
            return self._onnx

    @cached_property
    def _onnx(self) -> Any:
        from contextune._internal.onnx_runtime import runtime

        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # the order of sums, and with it the last bits, stays the same
        options.enable_cpu_mem_arena = False
        return runtime.InferenceSession(to_onnx(self._model), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _shap(self) -> TreeShap:
        return TreeShap(self._model)
