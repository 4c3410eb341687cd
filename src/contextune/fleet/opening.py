"""What workers open: a store by its URL, an embedder, a ranker."""

from collections.abc import Callable
from dataclasses import dataclass

from contextune.context.ranker import ContextRanker, default_ranker
from contextune.embed import Embedder, default_embedder
from contextune.store import ServiceStore, open_store

MakeEmbedder = Callable[[], Embedder | None]
"""Picklable: a function of a module, or a partial of one. None stands for the bundled embedder."""


@dataclass(frozen=True)
class WorkerSettings:
    """Where a worker finds the users, and with which models it works. Picklable."""

    store: str
    """A file or a `postgresql://` URL that every worker can open."""
    make_embedder: MakeEmbedder | None = None
    ranker: ContextRanker | None = None

    def open_store(self) -> ServiceStore:
        return open_store(self.store)

    def embedder(self) -> Embedder:
        """Load the embedder."""
        return (self.make_embedder and self.make_embedder()) or default_embedder()

    def ranker_or_default(self) -> ContextRanker:
        """The ranker, or the bundled one."""
        return self.ranker or default_ranker()
