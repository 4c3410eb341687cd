"""Build the ONNX graph of the decoder from its weights.

Weights are stored as int8 with one scale per 32, which loses almost nothing of the 4-bit originals or of the
adapter. Activations are quantised in the same way at run time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from contextune.llm.smollm2.engine import CONTEXT, MODEL

Array = NDArray[Any]

_WEIGHTS = "weights.bin"
_GROUP = 32
_SMALL = 1024
"""Maximum bytes of a constant inside the graph; larger ones are memory-mapped from a file."""
_MICROSOFT = "com.microsoft"  # onnxruntime's own operators


@dataclass(frozen=True)
class DecoderShape:
    """The dimensions of the model."""

    width: int
    heads: int
    kv_heads: int
    """Key-value heads (grouped-query attention)."""
    head: int
    vocabulary: int
    context: int
    base: float
    """Base of the rotary position embedding."""
    epsilon: float


class _PackedMatrix(NamedTuple):
    """An int8 matrix in the graph: names of its values and scales, and its shape."""

    numbers: str
    scales: str
    rows: int
    columns: int


class DecoderGraph:
    """Graph builder: pass the token embeddings, call `layer` for every layer, then `write`."""

    def __init__(self, shape: DecoderShape, tokens: Array, folder: Path) -> None:
        self._shape = shape
        self._folder = folder
        self._file = (folder / _WEIGHTS).open("wb")
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._input("tokens", TensorProto.INT64, "rows", "new")
        self._input("last", TensorProto.INT32, "rows")
        self._input("total", TensorProto.INT32)
        angles = np.arange(shape.context)[:, None] / shape.base ** (np.arange(0, shape.head, 2) / shape.head)
        self._turns = [self._constant(turn(angles).astype(np.float32)) for turn in (np.cos, np.sin)]
        self._table = self._quantize(tokens)
        self._state = self._lookup()

    def layer(self, weights: Mapping[str, Array]) -> None:
        """Append a layer: attention, then a gated feed-forward network."""
        packed = self._quantize(np.concatenate([weights["q"], weights["k"], weights["v"]]))
        attended = self._attention(self._linear(self._norm(weights["before"]), packed))
        self._add(self._linear(attended, self._quantize(weights["o"])))
        packed = self._quantize(np.concatenate([weights["gate"], weights["up"]]))
        gate, up = self._ops("Split", 2, self._linear(self._norm(weights["between"]), packed), axis=-1)
        gated = self._op("Mul", self._op("Mul", gate, self._op("Sigmoid", gate)), up)
        self._add(self._linear(gated, self._quantize(weights["down"])))

    def write(self, norm: Array) -> None:
        """Append the output layer, and write the graph next to its weights."""
        self._state = self._op("Gather", self._state, self._constant(np.array(-1)), axis=1)
        scores = self._linear(self._norm(norm), self._table)
        self._nodes.append(helper.make_node("Identity", [scores], ["scores"]))
        self._outputs.append(_value("scores", TensorProto.FLOAT, "rows", self._shape.vocabulary))
        graph = helper.make_graph(self._nodes, "model", self._inputs, self._outputs, self._constants)
        domains = [helper.make_opsetid("", 18), helper.make_opsetid(_MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=9)
        helper.set_model_props(model, {CONTEXT: str(self._shape.context)})
        self._file.close()
        (self._folder / MODEL).write_bytes(model.SerializeToString())

    def _lookup(self) -> str:
        """Look up token embeddings in the table that the output layer shares."""
        numbers = self._op("Cast", self._op("Gather", self._table.numbers, "tokens"), to=TensorProto.FLOAT)
        scales = self._op("Gather", self._table.scales, "tokens")
        scales = self._op("Unsqueeze", scales, self._constant(np.array([3])))
        groups = self._op("Mul", self._op("Sub", numbers, self._constant(np.array(128, np.float32))), scales)
        return self._op("Reshape", groups, self._constant(np.array([0, 0, self._shape.width])))

    def _attention(self, packed: str) -> str:
        shape, place = self._shape, len(self._outputs) // 2
        past, now = ([f"{when}_{kind}{place}" for kind in ("key", "value")] for when in ("past", "now"))
        for before, after in zip(past, now, strict=True):
            sizes = ("rows", shape.kv_heads, "room", shape.head)
            self._input(before, TensorProto.FLOAT, *sizes)
            self._outputs.append(_value(after, TensorProto.FLOAT, *sizes))
        heads: dict[str, Any] = {"num_heads": shape.heads, "kv_num_heads": shape.kv_heads, "do_rotary": 1}
        read = [packed, "", "", *past, "last", "total", *self._turns]
        looked = f"looked{place}"
        self._nodes.append(
            helper.make_node("GroupQueryAttention", read, [looked, *now], domain=_MICROSOFT, **heads)
        )
        return looked

    def _add(self, more: str) -> None:
        self._state = self._op("Add", self._state, more)

    def _norm(self, weights: Array) -> str:
        return self._op(
            "SimplifiedLayerNormalization",
            self._state,
            self._constant(weights),
            axis=-1,
            epsilon=self._shape.epsilon,
        )

    def _linear(self, x: str, packed: _PackedMatrix) -> str:
        options = {"bits": 8, "block_size": _GROUP, "accuracy_level": 4, "domain": _MICROSOFT}
        return self._op(
            "MatMulNBits", x, packed.numbers, packed.scales, K=packed.columns, N=packed.rows, **options
        )

    def _quantize(self, weights: Array) -> _PackedMatrix:
        rows, columns = weights.shape
        groups = weights.reshape(rows, columns // _GROUP, _GROUP)
        scales = np.abs(groups).max(axis=2, keepdims=True) / 127
        scales[scales == 0] = 1
        numbers = (np.rint(groups / scales) + 128).astype(np.uint8)
        return _PackedMatrix(self._constant(numbers), self._constant(scales[..., 0]), rows, columns)

    def _input(self, name: str, kind: int, *sizes: str | int) -> None:
        self._inputs.append(_value(name, kind, *sizes))

    def _op(self, op: str, *inputs: str, **attributes: Any) -> str:
        return self._ops(op, 1, *inputs, **attributes)[0]

    def _ops(self, op: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        names = [f"{op}_{len(self._nodes)}_{place}" for place in range(outputs)]
        if op == "Split":
            attributes["num_outputs"] = outputs
        self._nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names

    def _constant(self, value: Array) -> str:
        name = f"constant_{len(self._constants)}"
        if value.nbytes <= _SMALL:
            self._constants.append(numpy_helper.from_array(value, name))
            return name
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        tensor = TensorProto(name=name, data_type=kind, dims=value.shape, data_location=TensorProto.EXTERNAL)
        self._file.write(bytes(-self._file.tell() % 64))
        where = {"location": _WEIGHTS, "offset": self._file.tell(), "length": value.nbytes}
        for key, part in where.items():
            tensor.external_data.add(key=key, value=str(part))
        self._file.write(np.ascontiguousarray(value).tobytes())
        self._constants.append(tensor)
        return name


def _value(name: str, kind: int, *sizes: str | int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(sizes))
