"""Write trees as an ONNX model, which onnxruntime evaluates in a microsecond per row and hundred splits.

The model is one `TreeEnsemble` node (ai.onnx.ml 5) in double precision. It is written byte by byte, as the
package `onnx` is many times as large as what is needed of it here: a few of the fields of onnx.proto.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.rank.tree_model import TreeModel

_MODEL_VERSION, _OPSET, _TREES_OPSET = 10, 21, 5
_UINT8, _DOUBLE = 2, 11
_INT_KIND, _TENSOR_KIND, _INTS_KIND = 2, 4, 7
_SUM, _LESS_OR_EQUAL = 1, 0
_VARINT, _BYTES = 0, 2
INPUT, OUTPUT = "rows", "scores"


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
