"""Load a LoRA adapter from a safetensors file."""

import re
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.errors import LanguageModelError, MissingExtraError

Matrix = NDArray[np.float32]

SCALE = ".scale"
"""Suffix of the scales of int8 matrices."""
_NAME = re.compile(r"layers\.(\d+)\.(?:self_attn|mlp)\.([a-z]+)_proj\.(down|up)$")


class LoraWeights:
    """The adapter that `contextune_lab.train.llm.lora` writes: a pair of matrices per tuned matrix."""

    def __init__(self, path: Path) -> None:
        try:
            from safetensors import safe_open
        except ModuleNotFoundError:
            raise MissingExtraError("an adapter of a language model", "llm") from None
        pairs: dict[tuple[int, str], dict[str, Matrix]] = {}
        try:
            with cast("Any", safe_open)(path, framework="numpy") as file:
                alpha = float(cast("dict[str, str]", file.metadata())["alpha"])
                names = set(cast("list[str]", file.keys()))
                for name in sorted(name for name in names if not name.endswith(SCALE)):
                    layer, matrix, side = cast("re.Match[str]", _NAME.search(name)).groups()
                    pair = pairs.setdefault((int(layer), matrix), {})
                    pair[side] = file.get_tensor(name).astype(np.float32)
                    if name + SCALE in names:  # int8, with one scale per rank
                        scale = file.get_tensor(name + SCALE).astype(np.float32)
                        pair[side] *= scale[:, None] if side == "down" else scale
            self._changes = {
                place: (pair["down"], pair["up"] * np.float32(alpha / len(pair["down"])))
                for place, pair in pairs.items()
            }
        except Exception as error:  # safetensors raises its own kinds; other errors mean an invalid file
            raise LanguageModelError(
                f"{str(path)!r} is not a LoRA adapter: {type(error).__name__}; "
                "create one with 'python -m contextune_lab.train.llm.querygen'"
            ) from error

    def apply(self, weights: Matrix, layer: int, matrix: str) -> Matrix:
        """The matrix of a layer with the adapter merged in."""
        if (layer, matrix) not in self._changes:
            return weights
        down, up = self._changes[layer, matrix]
        change = (up @ down).astype(np.float32)
        if change.shape != weights.shape:
            raise LanguageModelError(
                f"the adapter is for another model: {matrix} of layer {layer} has shape "
                f"{change.shape}, but the model has {weights.shape}"
            )
        return weights + change
