"""Embedder for any sentence-transformers model (extra `sentence-transformers`)."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from contextune.embed.protocol import Matrix, normalize_rows, replace_surrogates
from contextune.embed.scripts import readable_scripts
from contextune.errors import EmbedderError, MissingExtraError


class SentenceTransformersEmbedder:
    """Runs a sentence-transformers model, given by name or folder."""

    def __init__(self, model: str, **options: Any) -> None:
        """`options` are passed to `SentenceTransformer`, such as `device="cuda"`."""
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

    @cached_property
    def scripts(self) -> frozenset[str] | None:
        """The scripts it can read; None if its tokenizer does not tell."""
        vocabulary = getattr(getattr(self._model, "tokenizer", None), "get_vocab", None)
        return readable_scripts(vocabulary()) if vocabulary else None

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector per text."""
        if not texts:
            return np.empty((0, 0), np.float32)
        vectors = self._model.encode(
            replace_surrogates(texts), show_progress_bar=False, convert_to_numpy=True
        )
        return normalize_rows(vectors, texts=len(texts), source=self.name)
