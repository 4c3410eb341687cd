"""Makes of the weights, and of an adapter, what the engine runs; once, in a folder of its own."""

import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.errors import LanguageModelError, MissingExtraError
from contextune.llm.smollm2.adapter import LoraWeights
from contextune.llm.smollm2.gguf import Gguf
from contextune.llm.smollm2.tokenizer import write_tokenizer
from contextune.llm.smollm2.weights import SHA256, find_weights, read_weights
from contextune.types import Progress

Matrix = NDArray[np.float32]

_RECIPE = 1
"""Raised when the files are made in another way, so that old ones are left alone."""
_MATRICES = {
    "q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output",
    "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down",
}  # fmt: skip
_NORMS = {"before": "attn_norm", "between": "ffn_norm"}


def prepared(folder: Path, adapter: Path | None, progress: Progress | None = None) -> Path:
    """The folder of the model with this adapter, made now if it is not there."""
    place = folder / f"smollm2-{fingerprint(adapter)}"
    try:
        if not place.is_dir():
            _prepare(find_weights(folder), adapter, place, progress or _silent)
    except OSError as error:
        raise LanguageModelError(
            f"the local model cannot be prepared in {str(folder)!r}: {error}; choose another folder"
        ) from error
    return place


def fingerprint(adapter: Path | None) -> str:
    """Tells models apart: by weights, adapter, and how the files were made."""
    try:
        tuned = adapter.read_bytes() if adapter else b""
    except OSError as error:
        raise LanguageModelError(f"the adapter cannot be read: {error}") from error
    return sha256(f"{_RECIPE} {SHA256}".encode() + tuned).hexdigest()[:12]


def _prepare(weights: Path | None, adapter: Path | None, place: Path, progress: Progress) -> None:
    try:
        from contextune.llm.smollm2.onnx_graph import DecoderGraph, DecoderShape
    except ModuleNotFoundError:
        raise MissingExtraError("the local language model", "llm") from None
    change = LoraWeights(adapter) if adapter else None
    file = Gguf(read_weights(weights))
    about = {name.removeprefix("llama."): value for name, value in file.about.items()}
    shape = DecoderShape(
        width=about["embedding_length"],
        heads=about["attention.head_count"],
        shared=about["attention.head_count_kv"],
        head=about["rope.dimension_count"],
        vocabulary=about["vocab_size"],
        context=about["context_length"],
        base=about["rope.freq_base"],
        epsilon=about["attention.layer_norm_rms_epsilon"],
    )
    layers: int = about["block_count"]
    place.parent.mkdir(parents=True, exist_ok=True)
    new = Path(mkdtemp(dir=place.parent))
    try:
        progress(0, layers)
        write_tokenizer(file.about, new)
        graph = DecoderGraph(shape, file.weights("token_embd.weight"), new)
        for layer in range(layers):
            graph.layer(_layer(file, layer, about, change))
            progress(layer + 1, layers)
        graph.write(file.weights("output_norm.weight"))
        if not place.is_dir():  # another process may have been faster
            new.rename(place)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _layer(file: Gguf, layer: int, about: Mapping[str, Any], change: LoraWeights | None) -> dict[str, Matrix]:
    found = {name: file.weights(f"blk.{layer}.{said}.weight") for name, said in (_MATRICES | _NORMS).items()}
    for name, heads in (("q", "attention.head_count"), ("k", "attention.head_count_kv")):
        found[name] = _in_halves(found[name], about[heads])
    if change:
        found |= {name: change.changed(found[name], layer, name) for name in _MATRICES}
    return found


def _in_halves(weights: Matrix, heads: int) -> Matrix:
    """Rows as the model was made with: llama.cpp keeps the two halves of what is rotated side by side."""
    pairs = weights.reshape(heads, -1, 2, weights.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(weights.shape)


def _silent(done: int, of: int) -> None:
    del done, of
