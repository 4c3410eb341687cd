"""Write a trained reading model as the folder that `contextune.reading` loads: int8 ONNX, heads, tokenizer.

    python -m contextune_lab.train.reading.export WEIGHTS TOKENIZER FOLDER [--base BASE]

`WEIGHTS` is what `train` saves: int8 rows with scales. Word vectors are frozen in training, so they come from
`BASE`, the weights that training started from.
"""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

import argparse
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from contextune._internal.assets import file_checksum
from contextune_lab.train.embedder.bert_onnx import build_reader

_HEADS = ("item", "tool", "fit", "arg", "val", "start", "end")


def read_weights(file: Path) -> dict[str, NDArray[Any]]:
    """Weights by name as float32."""
    weights: dict[str, NDArray[Any]] = {}
    with np.load(file) as stored:
        for name in stored.files:
            if name.endswith("|q"):
                plain = name[:-2]
                weights[plain] = stored[name].astype(np.float32) * stored[f"{plain}|s"]
            elif not name.endswith("|s"):
                weights[name] = stored[name].astype(np.float32)
    return weights


def read_exported(folder: Path) -> dict[str, NDArray[Any]]:
    """The weights of a model folder as float32: of the encoder without a prefix, and of the heads.

    Training can go on from them. They are those of int8, so a little is lost.
    """
    graph = onnx.load(folder / "model.onnx").graph
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    added = {name: node for node in graph.node if node.op_type == "Add" for name in node.input}
    by_type: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        by_type.setdefault(node.op_type, []).append(node)
    linear: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for node in by_type["DynamicQuantizeMatMul"]:
        bias = next(name for name in added[node.output[0]].input if name in stored)
        matrix = stored[node.input[1]].astype(np.float32) * stored[node.input[2]][None, :]
        linear.append((matrix.T, stored[bias]))
    weights: dict[str, NDArray[Any]] = {}
    norms = ["embeddings.LayerNorm"]
    for layer in range(len(linear) // 4):
        at = f"encoder.layer.{layer}"
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
        joined, *others = linear[4 * layer : 4 * layer + 4]
        thirds = zip(*(np.split(part, 3) for part in joined), strict=True)
        names = [f"attention.self.{name}" for name in ("query", "key", "value")]
        names += ["attention.output.dense", "intermediate.dense", "output.dense"]
        for name, (matrix, bias) in zip(names, [*thirds, *others], strict=True):
            weights[f"{at}.{name}.weight"], weights[f"{at}.{name}.bias"] = matrix, bias
    for name, node in zip(norms, by_type["LayerNormalization"], strict=True):
        weights[f"{name}.weight"], weights[f"{name}.bias"] = (stored[each] for each in node.input[1:3])
    gathers = [stored.get(node.input[0]) for node in by_type["Gather"]]
    words, scales, types, places, place_scales = [each for each in gathers if each is not None]
    weights["embeddings.word_embeddings.weight"] = words.astype(np.float32) * scales
    weights["embeddings.token_type_embeddings.weight"] = types
    weights["embeddings.position_embeddings.weight"] = places.astype(np.float32) * place_scales
    with np.load(folder / "heads.npz") as heads:
        weights |= {name: heads[name].astype(np.float32) for name in heads.files}
    return weights


def encoder_layers(weights: Mapping[str, NDArray[Any]]) -> int:
    """The number of layers of an encoder, whose weights have no prefix."""
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))


def export(
    weights: Mapping[str, NDArray[Any]],
    base: Mapping[str, NDArray[Any]],
    tokenizer: Path,
    folder: Path,
    about: Mapping[str, Any],
) -> None:
    """Write the model folder."""
    body = {name.removeprefix("bert."): value for name, value in weights.items() if name.startswith("bert.")}
    words = "embeddings.word_embeddings.weight"
    body.setdefault(words, base[words])
    layers = encoder_layers(body)
    config = {"layer_norm_eps": 1e-12, "num_attention_heads": 12, "num_hidden_layers": layers}
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(build_reader(body, config), folder / "model.onnx")
    heads = {
        f"{name}.{part}": weights[f"{name}.{part}"].astype(np.float16)
        for name in _HEADS
        for part in ("weight", "bias")
    }
    np.savez(folder / "heads.npz", allow_pickle=False, **heads)
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    sums = {name: file_checksum(folder / name) for name in ("model.onnx", "heads.npz")}
    card = {"name": "contextune-reading", "layers": layers, "sha256": sums, **about}
    (folder / "reading.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Export from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--trained-on", default="", help="names of worlds, separated by commas")
    options = parser.parse_args(arguments)
    about = {"trained_on": sorted(filter(None, options.trained_on.split(",")))}
    export(
        read_weights(options.weights), read_weights(options.base), options.tokenizer, options.folder, about
    )


if __name__ == "__main__":
    main()
