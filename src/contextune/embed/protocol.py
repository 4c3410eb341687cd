"""The `Embedder` protocol, and helpers for its implementations."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from contextune.errors import EmbedderError

Matrix = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors of unit length, so that a dot product is a cosine."""

    @property
    def name(self) -> str:
        """The key its vectors are stored under; embedders of the same name must return the same vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in the same order; the row of a text does not depend on the other texts."""
        ...


def replace_surrogates(texts: Sequence[str]) -> list[str]:
    """The texts with lone surrogates replaced, which tokenizers and JSON refuse."""
    return [
        text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        for text in texts
    ]


def normalize_rows(vectors: NDArray[Any], *, texts: int, source: str) -> Matrix:
    """The rows scaled to unit length; raise `EmbedderError` unless there is one usable vector per text."""
    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != texts:
        raise EmbedderError(f"{source} returned an array of shape {matrix.shape} for {texts} texts")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise EmbedderError(f"{source} returned a vector that is zero or not finite; check the model")
    return matrix / lengths
