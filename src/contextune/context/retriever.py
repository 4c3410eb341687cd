"""Finds the items of a user's own data that a request hangs on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from contextune.context.build_scene import RequestVectors
from contextune.context.enriched_text import situations
from contextune.context.index import UserIndexCache, UserState
from contextune.context.methods import DEFAULT, METHODS, ContextRanking, ContextSearch, learned, situated
from contextune.context.ranker import ContextRanker, default_ranker
from contextune.embed import CachedEmbedder, Embedder, Matrix
from contextune.errors import InvalidRequestError
from contextune.store import Store
from contextune.types import NAMELESS, ItemHit, Progress, Reasons, Request, User, local_time


@dataclass(frozen=True, slots=True)
class ToolSearchInputs:
    """The vectors of some items, a row each, and how probable it is that each application is meant."""

    vectors: Matrix
    apps: Mapping[str, float]


class ContextRetriever:
    """Ranks a user's items for a request by one of `METHODS`."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        method: str = DEFAULT,
        ranker: ContextRanker | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`ranker` is by default the one in the package; `progress` hears how many new items are embedded."""
        if method not in METHODS:
            raise InvalidRequestError(f"there is no method {method!r}: choose one of {', '.join(METHODS)}")
        self._method = METHODS[method]
        self._embedder = CachedEmbedder(embedder)
        # the one in the package is loaded by the first request that needs it
        self._ranker = (lambda: ranker) if ranker else default_ranker
        self._indexes = UserIndexCache(store, embedder, progress=progress)

    @property
    def embedder(self) -> Embedder:
        """The embedder, remembering what it embedded last: a stage after this one need not do it again."""
        return self._embedder

    def forget(self, user: str) -> None:
        """Drop what is kept in memory of a user; the store is the caller's."""
        self._indexes.forget(user)

    def user(self, user: str) -> User:
        """What is known of the user, without reading it from the store where it has not changed."""
        return self._indexes.of(user).index.user

    def prepare(self, user: str) -> None:
        """Make everything ready that the user's first request would otherwise wait for."""
        known = self._indexes.of(user)
        if known.index.items:
            self._search(Request("ready?", user), known, 1)
            if self._method in (learned, situated):
                self._embedder.embed(situations(known.index.user))

    def rank(self, request: Request, k: int | None = None) -> list[ItemHit]:
        """The best `k` of the items the request may see, best first; all of them if `k` is None."""
        known = self._known(request, k)
        return self._search(request, known, k) if known.index.items else []

    def signals(self, request: Request, k: int) -> dict[str, Mapping[str, float]]:
        """For what `rank` gives, by id, how much each family of signals raised it."""
        known = self._known(request, k)
        if not known.index.items:
            return {}
        ranking, depth = self._ranking(request, known, k)
        positions = [position for position, _ in ranking.found[:depth]]
        names = [known.index.items[position].id for position in positions]
        return dict(zip(names, ranking.signals(positions), strict=True))

    def around(self, request: Request, items: Sequence[str]) -> "ToolSearchInputs":
        """What search for tools wants to know of a request, and of the items it hangs on, by id."""
        known = self._indexes.of(request.user)
        asked = RequestVectors.of(request, known.index.user, self._embedder)
        ranker = self._ranker()
        apps: Mapping[str, float] = {}
        if ranker.reads(self._embedder.name):
            apps = ranker.reader.read(asked.meant, asked.bare).apps
        position = known.index.position
        if unknown := [item for item in items if item not in position]:
            raise InvalidRequestError(f"user {request.user!r} has no item {unknown[0]!r}")
        now, rows = local_time(request.time, known.index.user.zone), [position[item] for item in items]
        return ToolSearchInputs(known.gallery.vectors(now, rows), apps)

    def _known(self, request: Request, k: int | None) -> UserState:
        """What is known of the user, once it is clear that the request can be asked."""
        if k is not None and k < 1:
            raise InvalidRequestError(f"k={k!r}: ask for at least one item")
        known = self._indexes.of(request.user)
        _check_place(request, known.index.user)
        return known

    def _search(self, request: Request, known: UserState, k: int | None) -> list[ItemHit]:
        items = known.index.items
        ranking, depth = self._ranking(request, known, k)
        found = ranking.found[:depth]
        positions = [position for position, _ in found]
        explained = cache(lambda: ranking.reasons(positions))  # once for all hits, at the first look at any
        return [
            ItemHit(items[position], score, Reasons(lambda n=n: explained()[n]))
            for n, (position, score) in enumerate(found)
        ]

    def _ranking(self, request: Request, known: UserState, k: int | None) -> tuple[ContextRanking, int]:
        """All that was looked at, and how many of it are wanted."""
        depth = min(k or len(known.index.items), len(known.index.items))
        visible = known.index.visible(request.time)
        return self._method(
            ContextSearch(request, known, visible, self._embedder, self._ranker, depth)
        ), depth


def _check_place(request: Request, user: User) -> None:
    known = {*user.places, *NAMELESS}
    if isinstance(request.place, str) and request.place not in known:
        raise InvalidRequestError(
            f"user {user.id!r} has no place {request.place!r}: name one of {', '.join(sorted(known))}, "
            "or give latitude,longitude"
        )
