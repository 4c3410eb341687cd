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

from contextune._internal.checksum import file_checksum
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
    layers = 1 + max(int(name.split(".")[2]) for name in body if name.startswith("encoder.layer."))
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
