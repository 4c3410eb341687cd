"""Contributions of features to the scores of trees: exact Shapley values (TreeSHAP), vectorized over leaves.

On the path to a leaf, each feature has a share z of the training rows that go the same way at its splits, and
o = 1 if the row does, else 0. The Shapley value of feature i in the leaf with value v is

    v · (o_i - z_i) · ∫ Π_{j≠i} (z_j (1 - t) + o_j t) dt   for t from 0 to 1,

because ∫ t^k (1 - t)^(m-1-k) dt is the weight k! (m-1-k)! / m! of a coalition of k of the m - 1 other
features. The integrand is a polynomial of degree m - 1, so Gauss-Legendre quadrature of m/2 points is exact.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.rank.tree_model import Floats, Ints, TreeModel

_MAX_VALUES = 2_000_000
"""Numbers in one intermediate array."""
_MIN_SHARE = 1e-30
"""So that the share of a leaf without training rows can be divided by."""


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


_Path = dict[int, tuple[float, list[tuple[int, bool]]]]
"""Feature → share of the training rows that go this way at its splits, and these splits."""


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
