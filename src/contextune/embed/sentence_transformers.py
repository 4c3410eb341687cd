"""Any sentence-transformers model in place of the default (extra `sentence-transformers`)."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from contextune.embed.protocol import Matrix, unit_rows, whole_texts
from contextune.errors import EmbedderError, MissingExtraError


class SentenceTransformersEmbedder:
    """Runs a model by name or folder through sentence-transformers."""

    def __init__(self, model: str, **options: Any) -> None:
        """`options` go to `SentenceTransformer`, such as `device="cuda"`."""
        try:
            from sentence_transformers import SentenceTransformer
        except ModuleNotFoundError:
            raise MissingExtraError("a sentence-transformers model", "sentence-transformers") from None
        try:
            self._model = cast("Any", SentenceTransformer(model, **options))
        except (OSError, ValueError) as error:
            raise EmbedderError(f"sentence-transformers cannot load {model!r}: {error}") from error
        self._name = model

    @property
    def name(self) -> str:
        """The model's name or folder."""
        return f"sentence-transformers#{self._name}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit row a text."""
        if not texts:
            return np.empty((0, 0), np.float32)
        vectors = self._model.encode(whole_texts(texts), show_progress_bar=False, convert_to_numpy=True)
        return unit_rows(vectors, texts=len(texts), source=self.name)
