"""An embedder that tells what it was asked."""

from collections.abc import Sequence

from contextune.embed import Embedder, Matrix


class Counting:
    """Embeds as another does, and writes down the texts."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name = inner.name
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        """As the one inside."""
        self.texts += texts
        return self._inner.embed(texts)
