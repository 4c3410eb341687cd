"""Write the weights that training starts from: those of a reranker that was exported as int8 ONNX.

    python -m contextune_lab.train.reading.base_weights MODEL.onnx BASE.npz

The model is `cross-encoder/ms-marco-MiniLM-L-12-v2` as quantised by `onnxruntime`: its matrices are integers
with a scale and a zero point. `train` takes six of the twelve layers.
"""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from contextune_lab.train.embedder.bert_onnx import int8

Weights = dict[str, NDArray[Any]]
_PREFIX = "bert."
_EMBEDDINGS = ("word", "position", "token_type")


def read_base(file: Path) -> Weights:
    """The weights of the encoder as float32, by the names of `transformers`."""
    graph = onnx.load(file).graph
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    weights: Weights = {
        name.removeprefix(_PREFIX): value
        for name, value in stored.items()
        if name.startswith(_PREFIX) and value.dtype == np.float32 and value.ndim == 1
    }
    for node in graph.node:
        name = node.name.replace("/bert/", "").replace("/MatMul_quant", "").replace("/", ".")
        if node.op_type == "MatMulInteger" and name.startswith("encoder"):
            weights[f"{name}.weight"] = _matrix(stored, node.input[1].removesuffix("_quantized")).T
    for kind in _EMBEDDINGS:
        name = f"embeddings.{kind}_embeddings.weight"
        weights[name] = _matrix(stored, f"{_PREFIX}{name}")
    return weights


def _matrix(stored: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
    if name in stored:
        return stored[name].astype(np.float32)
    integers = stored[f"{name}_quantized"].astype(np.float32)
    return ((integers - stored[f"{name}_zero_point"]) * stored[f"{name}_scale"]).astype(np.float32)


def save_weights(weights: Mapping[str, NDArray[Any]], file: Path) -> None:
    """Write weights for `export.read_weights`: those of the encoder as int8 with a scale for each row."""
    stored: Weights = {}
    for name, value in weights.items():
        is_encoder = name.removeprefix(_PREFIX).startswith(("encoder.", "embeddings."))
        if is_encoder and value.ndim == 2 and len(value) > 2:
            stored[f"{name}|q"], stored[f"{name}|s"] = int8(value, axis=1)
        else:
            stored[name] = value.astype(np.float32)
    np.savez_compressed(file, allow_pickle=False, **stored)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the weights from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("base", type=Path)
    options = parser.parse_args(arguments)
    save_weights(read_base(options.model), options.base)


if __name__ == "__main__":
    main()
