"""Read LightGBM's text format: the trees of a model as flat arrays.

Nodes of all trees are numbered together, and so are leaves. A child of a node is the number of a node if it
is not negative, else `~child` is the number of a leaf, as in the file.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.errors import RankerError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_SHIFT, _MISSING_MASK = 2, 3
_ZERO_MISSING, _NAN_MISSING = 1, 2
_ZERO = float(np.float32(1e-35))
"""LightGBM's `kZeroThreshold`: values up to this size are zero."""
_OBJECTIVES = ("lambdarank", "rank_xendcg", "regression", "binary")
_SIGMOID = re.compile(r"sigmoid:([0-9.eE+-]+)")


@dataclass(frozen=True, eq=False)
class TreeModel:
    """The splits and leaves of all trees."""

    features: int
    sigmoid: float | None
    """Scale of the logistic function that turns scores into probabilities; None for plain scores."""
    feature: Ints
    threshold: Floats
    default_left: Flags
    zero_is_missing: Flags
    nan_is_missing: Flags
    left: Ints
    right: Ints
    node_count: Ints
    """Training rows of each node."""
    leaf: Floats
    leaf_count: Ints
    roots: Ints
    """The first node of each tree, with the convention of children: a tree may be a single leaf."""

    @classmethod
    def parse(cls, text: str) -> "TreeModel":
        """Read a model; raise `RankerError` for what is no model or cannot be evaluated here."""
        try:
            return _parse(text)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise RankerError(f"not a ranking model of LightGBM: {error}; train it again") from None

    def columns(self, matrix: NDArray[Any]) -> Floats:
        """The values that splits compare; with a second set of columns where zero counts as missing."""
        values = np.asarray(matrix, np.float64)
        if values.ndim != 2 or values.shape[1] != self.features:
            raise RankerError(f"the number of features is {values.shape[-1]}, not {self.features}")
        is_zero = np.abs(values) <= _ZERO
        values = np.where(is_zero, 0.0, values)
        return np.hstack([values, np.where(is_zero, np.nan, values)]) if self.has_zero_missing else values

    @cached_property
    def has_zero_missing(self) -> bool:
        """Whether there is a split at which zero counts as missing."""
        return bool(self.zero_is_missing.any())

    @cached_property
    def column(self) -> Ints:
        """The column of `columns` that each split compares."""
        return self.feature + self.features * self.zero_is_missing

    @cached_property
    def missing_left(self) -> Flags:
        """Whether a missing value goes left. Where nothing counts as missing, NaN is zero."""
        declared = self.zero_is_missing | self.nan_is_missing
        return np.where(declared, self.default_left, self.threshold >= 0)


def _parse(text: str) -> TreeModel:
    if not text.startswith("tree\n") or "\nend of trees" not in text:
        raise ValueError("no header or end")
    head, *blocks = text.partition("\nend of trees")[0].split("\nTree=")
    header = _fields(head)
    objective = header.get("objective", "regression")
    if objective.split()[0] not in _OBJECTIVES or "average_output" in head or "sqrt" in objective:
        raise ValueError(f"objective {objective!r} is not supported")
    if int(header["num_class"]) != 1 or int(header["num_tree_per_iteration"]) != 1:
        raise ValueError("several classes are not supported")
    trees = [_fields(block) for block in blocks]
    if any(int(tree.get("num_cat", 0)) or int(tree.get("is_linear", 0)) for tree in trees):
        raise ValueError("categorical splits and linear trees are not supported")
    leaves = np.array([int(tree["num_leaves"]) for tree in trees], np.int64)
    nodes = leaves - 1
    grown = [tree for tree, count in zip(trees, nodes, strict=True) if count]
    first_node = np.cumsum(nodes) - nodes
    first_leaf = np.cumsum(leaves) - leaves

    def numbers(name: str) -> Floats:
        values = np.array(" ".join(tree[name] for tree in grown).split(), np.float64)
        if len(values) != nodes.sum():
            raise ValueError(f"{len(values)} values of {name} for {nodes.sum()} splits")
        return values

    def children(name: str) -> Ints:
        child = numbers(name).astype(np.int64)
        return child + np.where(child >= 0, np.repeat(first_node, nodes), -np.repeat(first_leaf, nodes))

    leaf = np.array(" ".join(tree["leaf_value"] for tree in trees).split(), np.float64)
    if len(leaf) != leaves.sum():
        raise ValueError(f"{len(leaf)} values of {leaves.sum()} leaves")
    # the count of a tree that is a single leaf is not in every file, and not needed
    counts = [tree["leaf_count"] if count else "1" for tree, count in zip(trees, nodes, strict=True)]
    kinds = numbers("decision_type").astype(np.int64)
    if (kinds & _CATEGORICAL).any():
        raise ValueError("categorical splits are not supported")
    missing = (kinds >> _MISSING_SHIFT) & _MISSING_MASK
    scale = _SIGMOID.search(objective) if objective.startswith("binary") else None
    model = TreeModel(
        features=int(header["max_feature_idx"]) + 1,
        sigmoid=float(scale[1]) if scale else 1.0 if objective.startswith("binary") else None,
        feature=numbers("split_feature").astype(np.int64),
        threshold=numbers("threshold"),
        default_left=(kinds & _DEFAULT_LEFT) != 0,
        zero_is_missing=missing == _ZERO_MISSING,
        nan_is_missing=missing == _NAN_MISSING,
        left=children("left_child"),
        right=children("right_child"),
        node_count=numbers("internal_count").astype(np.int64),
        leaf=leaf,
        leaf_count=np.array(" ".join(counts).split(), np.float64).astype(np.int64),
        roots=np.where(nodes > 0, first_node, ~first_leaf),
    )
    _check(model)
    return model


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.splitlines())
    return {name: value for name, equals, value in pairs if equals}


def _check(model: TreeModel) -> None:
    """Raise `ValueError` unless every node and leaf but the roots is the child of one node before it."""
    nodes, leaves = len(model.threshold), len(model.leaf)
    child = np.concatenate([model.left, model.right, model.roots])
    if not np.array_equal(np.sort(child), np.arange(-leaves, nodes)):
        raise ValueError("nodes that are not in one tree")
    parent = np.tile(np.arange(nodes), 2)
    child = child[: 2 * nodes]
    if (child[child >= 0] <= parent[child >= 0]).any():
        raise ValueError("a node before its parent")
    if len(model.leaf_count) != leaves or not (model.feature < model.features).all():
        raise ValueError("counts or features do not fit")
