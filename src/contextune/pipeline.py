"""The way of a request, from top to bottom: utterance → context → (tools → plan) → answer."""

from collections.abc import Sequence
from time import perf_counter

from contextune.context import DEFAULT, ContextRanker, ContextRetriever
from contextune.context.look import named_place
from contextune.embed import Embedder, default_embedder
from contextune.errors import InvalidRequestError
from contextune.store import Store
from contextune.types import Answer, Feedback, Hit, Item, Progress, Request, Use


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
        ranker: ContextRanker | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`method` names a way to rank context; `ranker` stands in for the learned one in the package.

        `progress` hears of items embedded for the first time.
        """
        self.store = store
        self._retriever = ContextRetriever(
            store, embedder or default_embedder(), method=method, ranker=ranker, progress=progress
        )

    def prepare(self, user: str) -> None:
        """Embed what is new and build the user's index now, not at their first request."""
        self._retriever.prepare(user)

    def record(self, user: str, *uses: Use) -> None:
        """Tell of uses: the user played, opened or called something. The next request knows."""
        self.store.put_uses(user, uses)

    def feedback(self, request: Request, used: Sequence[str] = (), rejected: Sequence[str] = ()) -> None:
        """Tell which items, by id, a request did hang on, and which not.

        It is kept to train on (`contextune train ranker --from-store`), and what was used counts as used.
        """
        known = {item.id for item in self.store.items(request.user, [*used, *rejected])}
        if unknown := {*used, *rejected} - known:
            raise InvalidRequestError(f"user {request.user!r} has no item {min(unknown)!r}")
        self.store.put_feedback(request.user, Feedback(request, tuple(used), tuple(rejected)))
        place = named_place(request, self.store.user(request.user))
        self.record(request.user, *(Use(item, request.time, place) for item in used))

    def context(self, request: Request, k: int | None = 10) -> list[Hit[Item]]:
        """The items the request hangs on, best first: the best `k`, or with None all it may see."""
        return self._retriever.rank(request, k)

    def answer(self, request: Request, k: int | None = 10) -> Answer:
        """Everything there is to say to the request."""
        start = perf_counter()
        context = self.context(request, k)
        return Answer(request, context=tuple(context), seconds={"context": perf_counter() - start})
