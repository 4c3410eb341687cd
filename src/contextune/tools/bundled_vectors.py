"""Vectors of the bundled toolbox, computed in advance: embedding it takes a second at every start."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from contextune._internal.array_files import read_arrays
from contextune._internal.assets import model_folder
from contextune.embed import Matrix

VECTORS_FILE = "vectors.npz"


class BundledVectors:
    """A `VectorCache` that only reads; vectors of another embedder or of other texts are not in it."""

    def __init__(self, model: str, vectors: Mapping[bytes, Matrix]) -> None:
        self._model = model
        self._vectors = vectors

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors stored for these text digests and this embedder."""
        if model != self._model:
            return {}
        return {digest: self._vectors[digest] for digest in digests if digest in self._vectors}

    def put_vectors(self, model: str, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Store nothing."""


@cache
def bundled_vectors() -> BundledVectors:
    """The vectors of the bundled tools and their examples, for the bundled embedder.

    `python -m contextune_lab.train.embedder.tool_vectors` writes them.
    """
    content = read_arrays(model_folder("toolbox") / VECTORS_FILE)
    digests = [row.tobytes() for row in content["digests"]]
    return BundledVectors(str(content["model"]), dict(zip(digests, content["vectors"], strict=True)))
