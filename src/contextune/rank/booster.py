"""Predict with a LightGBM model, without LightGBM: only training needs that.

Scores are those of LightGBM up to rounding in the last bits. onnxruntime, which runs the embedder too,
evaluates the trees, in a microsecond per row and hundred splits. Their ONNX model is one `TreeEnsemble` node
(ai.onnx.ml 5) in double precision. It is written byte by byte, as the package `onnx` is many times as large
as what is needed of it here: a few of the fields of onnx.proto.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.rank.logistic import sigmoid
from contextune.rank.tree_model import Floats, TreeModel
from contextune.rank.tree_shap import TreeShap

_MODEL_VERSION, _OPSET, _TREES_OPSET = 10, 21, 5
_UINT8, _DOUBLE = 2, 11
_INT_KIND, _TENSOR_KIND, _INTS_KIND = 2, 4, 7
_SUM, _LESS_OR_EQUAL = 1, 0
_VARINT, _BYTES = 0, 2
INPUT, OUTPUT = "rows", "scores"


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


def to_onnx(model: TreeModel) -> bytes:
    """A serialized ONNX model: columns of `TreeModel.columns` → sum of all trees with a split."""
    leaves = len(model.leaf)
    is_leaf = {"true": model.left < 0, "false": model.right < 0}
    child = {"true": model.left, "false": model.right}
    integers: dict[str, Any] = {
        "tree_roots": model.roots[model.roots >= 0],
        "nodes_featureids": model.column,
        "nodes_missing_value_tracks_true": model.missing_left,
        "leaf_targetids": np.zeros(leaves, np.int64),
    }
    for side in ("true", "false"):
        integers[f"nodes_{side}nodeids"] = np.where(is_leaf[side], ~child[side], child[side])
        integers[f"nodes_{side}leafs"] = is_leaf[side]
    tensors = {
        "nodes_splits": (model.threshold, _DOUBLE),
        "nodes_modes": (np.full(len(model.threshold), _LESS_OR_EQUAL, np.uint8), _UINT8),
        "leaf_weights": (model.leaf, _DOUBLE),
    }
    attributes = [
        *(_attribute(name, _message(8, _varints(values)), _INTS_KIND) for name, values in integers.items()),
        *(_attribute(name, _message(5, _tensor(*values)), _TENSOR_KIND) for name, values in tensors.items()),
        _attribute("n_targets", _integer(3, 1), _INT_KIND),
        _attribute("aggregate_function", _integer(3, _SUM), _INT_KIND),
    ]
    node = b"".join(
        [
            *(_text(1, INPUT), _text(2, OUTPUT), _text(4, "TreeEnsemble"), _text(7, "ai.onnx.ml")),
            *(_message(5, attribute) for attribute in attributes),
        ]
    )
    columns = model.features * (2 if model.has_zero_missing else 1)
    graph = b"".join(
        [
            *(_message(1, node), _text(2, "trees")),
            *(_message(11, _value(INPUT, columns)), _message(12, _value(OUTPUT, 1))),
        ]
    )
    opsets = ((_text(1, ""), _OPSET), (_text(1, "ai.onnx.ml"), _TREES_OPSET))
    return b"".join(
        [
            *(_integer(1, _MODEL_VERSION), _message(7, graph)),
            *(_message(8, domain + _integer(2, version)) for domain, version in opsets),
        ]
    )


def _attribute(name: str, content: bytes, kind: int) -> bytes:
    return _text(1, name) + content + _integer(20, kind)


def _tensor(values: NDArray[Any], kind: int) -> bytes:
    return _integer(1, len(values)) + _integer(2, kind) + _message(9, values.tobytes())


def _value(name: str, columns: int) -> bytes:
    """A matrix of doubles with any number of rows."""
    shape = _message(1, _text(2, "n")) + _message(1, _integer(1, columns))
    tensor = _integer(1, _DOUBLE) + _message(2, shape)
    return _text(1, name) + _message(2, _message(1, tensor))


def _integer(field: int, value: int) -> bytes:
    return _varints([field << 3 | _VARINT, value])


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _message(field: int, content: bytes) -> bytes:
    return _varints([field << 3 | _BYTES, len(content)]) + content


def _varints(values: Sequence[int] | NDArray[Any]) -> bytes:
    """Integers in groups of seven bits, the lowest first; all but the last have the high bit set."""
    shifts = np.arange(0, 63, 7).astype(np.uint64)
    rest: NDArray[np.uint64] = np.asarray(values, np.uint64)[:, None] >> shifts
    digits = (rest & 127) | np.where(rest > 127, 128, 0).astype(np.uint64)
    used = rest > 0
    used[:, 0] = True
    return digits.astype(np.uint8)[used].tobytes()
