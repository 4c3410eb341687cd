"""Build the ONNX model from the weights and an adapter, once, in its own folder."""

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

_FORMAT_VERSION = 1
"""Increase it when the built files change, so that old ones are not used."""
_MATRICES = {
    "q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output",
    "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down",
}  # fmt: skip
_NORMS = {"before": "attn_norm", "between": "ffn_norm"}


def prepare_model(folder: Path, adapter: Path | None, progress: Progress | None = None) -> Path:
    """The folder of the model with this adapter; built now if it does not exist."""
    target = folder / f"smollm2-{fingerprint(adapter)}"
    try:
        if not target.is_dir():
            _build(find_weights(folder), adapter, target, progress or _no_progress)
    except OSError as error:
        raise LanguageModelError(
            f"the local model cannot be prepared in {str(folder)!r}: {error}; choose another folder"
        ) from error
    return target


def fingerprint(adapter: Path | None) -> str:
    """Identifies a model by its weights, adapter and format version."""
    try:
        content = adapter.read_bytes() if adapter else b""
    except OSError as error:
        raise LanguageModelError(f"the adapter cannot be read: {error}") from error
    return sha256(f"{_FORMAT_VERSION} {SHA256}".encode() + content).hexdigest()[:12]


def _build(weights: Path | None, adapter: Path | None, target: Path, progress: Progress) -> None:
    try:
        from contextune.llm.smollm2.onnx_graph import DecoderGraph, DecoderShape
    except ModuleNotFoundError:
        raise MissingExtraError("the local language model", "llm") from None
    lora = LoraWeights(adapter) if adapter else None
    file = Gguf(read_weights(weights))
    metadata = {name.removeprefix("llama."): value for name, value in file.metadata.items()}
    shape = DecoderShape(
        width=metadata["embedding_length"],
        heads=metadata["attention.head_count"],
        kv_heads=metadata["attention.head_count_kv"],
        head=metadata["rope.dimension_count"],
        vocabulary=metadata["vocab_size"],
        context=metadata["context_length"],
        base=metadata["rope.freq_base"],
        epsilon=metadata["attention.layer_norm_rms_epsilon"],
    )
    layers: int = metadata["block_count"]
    target.parent.mkdir(parents=True, exist_ok=True)
    new = Path(mkdtemp(dir=target.parent))
    try:
        progress(0, layers)
        write_tokenizer(file.metadata, new)
        graph = DecoderGraph(shape, file.weights("token_embd.weight"), new)
        for layer in range(layers):
            graph.layer(_layer(file, layer, metadata, lora))
            progress(layer + 1, layers)
        graph.write(file.weights("output_norm.weight"))
        if not target.is_dir():  # another process may have been faster
            new.rename(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _layer(
    file: Gguf, layer: int, metadata: Mapping[str, Any], lora: LoraWeights | None
) -> dict[str, Matrix]:
    names = _MATRICES | _NORMS
    weights = {name: file.weights(f"blk.{layer}.{tensor}.weight") for name, tensor in names.items()}
    for name, heads in (("q", "attention.head_count"), ("k", "attention.head_count_kv")):
        weights[name] = _undo_interleaving(weights[name], metadata[heads])
    if lora:
        weights |= {name: lora.apply(weights[name], layer, name) for name in _MATRICES}
    return weights


def _undo_interleaving(weights: Matrix, heads: int) -> Matrix:
    """Restore the original row order: llama.cpp interleaves the two halves of rotary dimensions."""
    pairs = weights.reshape(heads, -1, 2, weights.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(weights.shape)


def _no_progress(done: int, of: int) -> None:
    del done, of
