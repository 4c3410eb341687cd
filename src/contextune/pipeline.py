"""The way of a request, from top to bottom: utterance → context → (tools → plan) → answer."""

from time import perf_counter

from contextune.context import DEFAULT, ContextRetriever
from contextune.embed import Embedder, default_embedder
from contextune.store import Store
from contextune.types import Answer, Hit, Item, Progress, Request


class Tuner:
    """Completes requests over the data in a store.

    Safe to share between threads. Everything happens on this machine unless the
    embedder given is one that asks a server.
    """

    def __init__(
        self,
        store: Store,
        *,
        embedder: Embedder | None = None,
        method: str = DEFAULT,
        progress: Progress | None = None,
    ) -> None:
        """`method` names a way to rank context; `progress` hears of items embedded for the first time."""
        self.store = store
        self._retriever = ContextRetriever(
            store, embedder or default_embedder(), method=method, progress=progress
        )

    def prepare(self, user: str) -> None:
        """Embed what is new and build the user's index now, not at their first request."""
        self._retriever.prepare(user)

    def context(self, request: Request, k: int | None = 10) -> list[Hit[Item]]:
        """The items the request hangs on, best first: the best `k`, or with None all it may see."""
        return self._retriever.rank(request, k)

    def answer(self, request: Request, k: int | None = 10) -> Answer:
        """Everything there is to say to the request."""
        start = perf_counter()
        context = self.context(request, k)
        return Answer(request, context=tuple(context), seconds={"context": perf_counter() - start})
