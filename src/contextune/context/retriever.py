"""Finds the items of a user's own data that a request hangs on."""

from contextune.context.index import Indexes, UserIndex
from contextune.context.methods import DEFAULT, METHODS, Search
from contextune.embed import Embedder, RememberingEmbedder
from contextune.errors import InvalidRequestError
from contextune.store import Store
from contextune.types import NAMELESS, Hit, Item, Progress, Request, User


class ContextRetriever:
    """Ranks a user's items for a request by one of `METHODS`."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        method: str = DEFAULT,
        progress: Progress | None = None,
    ) -> None:
        """`progress` is told how many new items are embedded, of how many."""
        if method not in METHODS:
            raise InvalidRequestError(f"there is no method {method!r}: choose one of {', '.join(METHODS)}")
        self._method = METHODS[method]
        self._embedder = RememberingEmbedder(embedder)
        self._indexes = Indexes(store, embedder, progress=progress)

    def prepare(self, user: str) -> None:
        """Make everything ready that the user's first request would otherwise wait for."""
        index = self._indexes.of(user)
        _ = index.lexical, index.vectors

    def rank(self, request: Request, k: int | None = None) -> list[Hit[Item]]:
        """The best `k` of the items the request may see, best first; all of them if `k` is None."""
        if k is not None and k < 1:
            raise InvalidRequestError(f"k={k!r}: ask for at least one item")
        index = self._indexes.of(request.user)
        _check_place(request, index.user)
        if not index.items:
            return []
        return self._rank(request, index, k)

    def _rank(self, request: Request, index: UserIndex, k: int | None) -> list[Hit[Item]]:
        depth = min(k or len(index.items), len(index.items))
        ranking = self._method(Search(request, index, index.visible(request.time), self._embedder, depth))
        return [Hit(index.items[i], score, ranking.reasons(i)) for i, score in ranking.found[:depth]]


def _check_place(request: Request, user: User) -> None:
    known = {*user.places, *NAMELESS}
    if isinstance(request.place, str) and request.place not in known:
        raise InvalidRequestError(
            f"user {user.id!r} has no place {request.place!r}: name one of {', '.join(sorted(known))}, "
            "or give latitude,longitude"
        )
