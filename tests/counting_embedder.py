"""An embedder that records the texts it embeds."""

from collections.abc import Sequence

from contextune.embed import Embedder, Matrix


class CountingEmbedder:
    """Embeds with another embedder and records the texts."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name = inner.name
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        """As the inner embedder."""
        self.texts += texts
        return self._inner.embed(texts)
