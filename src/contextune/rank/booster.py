"""Predict with a LightGBM model, without LightGBM: only training needs that.

Scores are those of LightGBM up to rounding in the last bits. onnxruntime, which runs the embedder too,
evaluates the trees, in a microsecond per row and hundred splits. Their ONNX model is one `TreeEnsemble` node
(ai.onnx.ml 5) in double precision. It is written byte by byte, as the package `onnx` is many times as large
as what is needed of it here: a few of the fields of onnx.proto.

Contributions of features are exact Shapley values (TreeSHAP), vectorized over leaves. On the path to a leaf,
each feature has a share z of the training rows that go the same way at its splits, and o = 1 if the row does,
else 0. The Shapley value of feature i in the leaf with value v is

    v · (o_i - z_i) · ∫ Π_{j≠i} (z_j (1 - t) + o_j t) dt   for t from 0 to 1,

because ∫ t^k (1 - t)^(m-1-k) dt is the weight k! (m-1-k)! / m! of a coalition of k of the m - 1 other
features. The integrand is a polynomial of degree m - 1, so Gauss-Legendre quadrature of m/2 points is exact.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.rank.logistic import sigmoid
from contextune.rank.tree_model import Floats, Ints, TreeModel

_MAX_VALUES = 2_000_000
"""Numbers in one intermediate array."""
_MIN_SHARE = 1e-30
"""So that the share of a leaf without training rows can be divided by."""
_MODEL_VERSION, _OPSET, _TREES_OPSET = 10, 21, 5
_UINT8, _DOUBLE = 2, 11
_INT_KIND, _TENSOR_KIND, _INTS_KIND = 2, 4, 7
_SUM, _LESS_OR_EQUAL = 1, 0
_VARINT, _BYTES = 0, 2
INPUT, OUTPUT = "rows", "scores"
_Path = dict[int, tuple[float, list[tuple[int, bool]]]]
"""Feature → share of the training rows that go this way at its splits, and these splits."""


class TreeShap:
    """The paths of a model. Takes some hundredths of a second to build, so it is built on first use."""

    def __init__(self, model: TreeModel) -> None:
        self._model = model
        paths = _paths(model)
        sizes = np.array([len(path) for path in paths], np.int64)
        width = max(int(sizes.max(initial=0)), 1)
        self._shape = len(paths), width
        self._feature: Ints = np.zeros(self._shape, np.int64)
        self._share: Floats = np.ones(self._shape)
        """z of each feature of a path; one where the path is shorter, which changes no product."""
        slots: list[int] = []
        starts: list[int] = []
        nodes: list[int] = []
        went_left: list[bool] = []
        for leaf, path in enumerate(paths):
            for place, (feature, (share, splits)) in enumerate(path.items()):
                self._feature[leaf, place], self._share[leaf, place] = feature, max(share, _MIN_SHARE)
                slots.append(leaf * width + place)
                starts.append(len(nodes))
                for node, left in splits:
                    nodes.append(node)
                    went_left.append(left)
        self._slots, self._starts = np.array(slots, np.int64), np.array(starts, np.int64)
        self._nodes, self._went_left = np.array(nodes, np.int64), np.array(went_left, np.bool_)
        points, weights = np.polynomial.legendre.leggauss(width // 2 + 1)
        self._quadrature = [
            (float(point), float(weight)) for point, weight in zip((points + 1) / 2, weights / 2, strict=True)
        ]
        self._mean = float(model.leaf @ self._share.prod(axis=1))

    def contributions(self, matrix: NDArray[Any]) -> Floats:
        """What each feature adds to the score of each row; the last column is the mean score."""
        columns = self._model.columns(matrix)
        step = max(1, _MAX_VALUES // max(1, self._shape[0] * self._shape[1]))
        result = np.zeros((len(columns), self._model.features + 1))
        for start in range(0, len(columns), step):
            result[start : start + step, :-1] = self._of_rows(columns[start : start + step])
        result[:, -1] = self._mean
        return result

    def _of_rows(self, columns: Floats) -> Floats:
        rows, (leaves, width) = len(columns), self._shape
        followed = np.ones((rows, leaves * width))
        if len(self._slots):
            same = self._goes_left(columns)[:, self._nodes] == self._went_left
            followed[:, self._slots] = np.logical_and.reduceat(same, self._starts, axis=1)
        followed = followed.reshape(rows, leaves, width)
        weight = np.zeros_like(followed)
        for point, share in self._quadrature:
            factors = self._share * (1 - point) + followed * point
            weight += share * factors.prod(axis=2, keepdims=True) / factors
        parts = weight * (followed - self._share) * self._model.leaf[:, None]
        places = self._feature + self._model.features * np.arange(rows)[:, None, None]
        size = rows * self._model.features
        sums: NDArray[Any] = np.bincount(places.ravel(), parts.ravel(), size)
        return sums.reshape(rows, self._model.features)

    def _goes_left(self, columns: Floats) -> NDArray[np.bool_]:
        values = columns[:, self._model.column]
        return (values <= self._model.threshold) | (np.isnan(values) & self._model.missing_left)


def _paths(model: TreeModel) -> list[_Path]:
    """The path to each leaf."""
    paths: list[_Path] = [{} for _ in model.leaf]
    of_node: dict[int, _Path] = {}
    feature, counts = model.feature.tolist(), model.node_count.tolist()
    leaf_counts = model.leaf_count.tolist()
    for node, children in enumerate(zip(model.left.tolist(), model.right.tolist(), strict=True)):
        path = of_node.pop(node, {})  # nodes come after their parents
        for child, left in zip(children, (True, False), strict=True):
            count = counts[child] if child >= 0 else leaf_counts[~child]
            share, splits = path.get(feature[node], (1.0, []))
            longer = {**path, feature[node]: (share * count / max(1, counts[node]), [*splits, (node, left)])}
            if child >= 0:
                of_node[child] = longer
            else:
                paths[~child] = longer
    return paths


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
