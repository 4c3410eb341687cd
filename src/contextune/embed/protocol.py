"""What an embedder must do."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from contextune.errors import EmbedderError

Matrix = NDArray[np.float32]


class Embedder(Protocol):
    """Text → vectors of unit length, so that a dot product is a cosine."""

    @property
    def name(self) -> str:
        """What its vectors are filed under; two embedders of one name must give the same vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row a text, in the order given; a text's row does not depend on the others."""
        ...


def whole_texts(texts: Sequence[str]) -> list[str]:
    """The texts without halves of characters (lone surrogates), which neither tokenizers nor JSON take."""
    return [
        text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        for text in texts
    ]


def unit_rows(vectors: NDArray[Any], *, texts: int, source: str) -> Matrix:
    """Rows of unit length, or an error if this is not one usable vector for each text."""
    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != texts:
        raise EmbedderError(f"{source} gave an array of shape {matrix.shape} for {texts} texts")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise EmbedderError(f"{source} gave a vector that is zero or not finite; check the model")
    return matrix / lengths
