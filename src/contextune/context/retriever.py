"""ContextRetriever: the items of a user's data that a request needs."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial

from contextune.context.build_scene import RequestVectors
from contextune.context.enriched.text import all_moment_texts
from contextune.context.history import depends_on_history
from contextune.context.index import UserState
from contextune.context.index_cache import UserIndexCache
from contextune.context.learning.past_choices import PastChoicesReader
from contextune.context.methods import (
    DEFAULT_METHOD,
    METHODS,
    ContextRanking,
    ContextSearch,
    Method,
    by_words,
    learned,
    reading,
    situated,
)
from contextune.context.preparation import FEW_ITEMS, BackgroundEmbedding, Preparation
from contextune.context.ranker import ContextRanker, RankerSource, default_ranker
from contextune.context.series import first_occurrences, meant_occurrence
from contextune.embed import CachedEmbedder, Embedder, Matrix
from contextune.errors import InvalidRequestError
from contextune.search import tokenize
from contextune.search.request_text import canonical_request
from contextune.store import Store
from contextune.types import (
    NAMELESS,
    ContextHits,
    Item,
    ItemHit,
    Progress,
    Reasons,
    Request,
    User,
    local_time,
)

_ENRICHED = (reading, learned, situated)
"""Methods that need the vectors of items with their habits."""


@dataclass(frozen=True, slots=True)
class ToolSearchInputs:
    """What tool search and planning use of a user and a request beside the context itself."""

    user: User
    vectors: Matrix
    """One row per item of the context."""
    apps: Mapping[str, float]
    """Probabilities of the applications."""


class ContextRetriever:
    """Ranks a user's items for a request by one of `METHODS`."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        method: str = DEFAULT_METHOD,
        ranker: ContextRanker | RankerSource | None = None,
        progress: Progress | None = None,
        wait: bool = True,
    ) -> None:
        """`ranker` replaces the bundled one; `progress` is called while new items are embedded.

        A function that returns a ranker is called for each request.

        Without `wait`, many new items are embedded in the background, and requests are answered by words
        until their vectors are there.
        """
        self._method = _method(method)
        self._embedder = CachedEmbedder(embedder)
        # the bundled ranker is loaded by the first request that needs it
        self._ranker: RankerSource = default_ranker
        if ranker:
            self._ranker = (lambda: ranker) if isinstance(ranker, ContextRanker) else ranker
        self._progress = progress
        self._choices = PastChoicesReader(store, self._embedder)
        self._indexes = UserIndexCache(store, embedder, progress=self._report)
        self._background = None if wait else BackgroundEmbedding()

    def with_method(self, method: str) -> "ContextRetriever":
        """The same retriever with another method; both share indexes, caches and the embedder."""
        other = copy(self)
        other._method = _method(method)
        return other

    @property
    def embedder(self) -> Embedder:
        """The embedder with its cache, so that later stages do not embed a request again."""
        return self._embedder

    def forget(self, user: str, *, before: int | None = None) -> None:
        """Drop a user's index from memory; with `before`, only one older than that revision of the items."""
        self._indexes.forget(user, before=before)
        self._choices.forget(user)
        if self._background and before is None:
            self._background.forget(user)

    def user(self, user: str) -> User:
        """The user's profile; read from the store only if it has changed."""
        return self._indexes.get(user).index.user

    def words(self, user: str) -> Callable[[str], bool]:
        """Says whether an item or the name of a contact of a user has a word."""
        index = self._indexes.get(user).index
        names = frozenset(word for contact in index.user.contacts for word in tokenize(contact.name))
        lexical = tuple(index.lexical.values())
        return lambda word: word in names or any(each.document_frequency(word) for each in lexical)

    def preparation(self, user: str) -> Preparation:
        """How many of a user's items have vectors."""
        state = self._indexes.get(user)
        if self._background and self._background.is_running(user):
            missing = self._background.pending(user)
        else:
            missing = self._indexes.missing(user, state)
        return Preparation(len(state.index.items) - missing, len(state.index.items))

    def prepare(self, user: str) -> None:
        """Build and embed everything that the user's first request would otherwise wait for."""
        state = self._indexes.get(user)
        if state.index.items:
            enriched = self._method in _ENRICHED
            if enriched:
                _ = state.enriched.contents  # waits, whatever `wait` says
            self._search(Request("ready?", user), state, 1)
            if enriched:  # last: a request embeds only its own moment
                self._embedder.embed(all_moment_texts(state.index.user))

    def rank(self, request: Request, k: int | None = None) -> ContextHits:
        """The best `k` items that existed at the time of the request, best first; all if `k` is None."""
        state = self._checked_state(request, k)
        return self._search(request, state, k) if state.index.items else ContextHits()

    def visible_items(self, request: Request, ids: Sequence[str] | None = None) -> list[Item]:
        """The items that existed at the time of the request: those with some ids, in their order, or all."""
        index = self._indexes.get(request.user).index
        visible = index.visible(request.time)
        rows = (
            range(len(index.items))
            if ids is None
            else [index.row_by_id[item] for item in ids if item in index.row_by_id]
        )
        return [index.items[row] for row in rows if visible[row]]

    def judgements(self, request: Request) -> Mapping[str, float]:
        """By id, items that were right (positive) or wrong (negative) for requests of nearly these words."""
        choices = self._choices.read(request.user)
        if not choices.feedback or depends_on_history(request):
            return {}
        zone = self.user(request.user).zone
        return choices.judge_by_words(request.text, request.time, zone)[0]

    def signals(self, request: Request, k: int) -> dict[str, Mapping[str, float]]:
        """For the hits of `rank`, by item id, the contribution of each feature family to the score."""
        state = self._checked_state(request, k)
        if not state.index.items:
            return {}
        ranking, depth = self._ranking(request, state, k)
        rows = [row for row, _ in ranking.scored_rows[:depth]]
        ids = [state.index.items[row].id for row in rows]
        return dict(zip(ids, ranking.signals(rows), strict=True))

    def tool_search_inputs(self, request: Request, items: Sequence[str]) -> ToolSearchInputs:
        """What tool search needs to know of a request and of its context items, given by id."""
        state = self._indexes.get(request.user)
        user, row_by_id = state.index.user, state.index.row_by_id
        if unknown := [item for item in items if item not in row_by_id]:
            raise InvalidRequestError(f"user {request.user!r} has no item {unknown[0]!r}")
        now, rows = local_time(request.time, user.zone), [row_by_id[item] for item in items]
        vectors = state.enriched.vectors_of(now, rows)
        return ToolSearchInputs(user, vectors, self.app_probabilities(request, user))

    def app_probabilities(self, request: Request, user: User | None = None) -> Mapping[str, float]:
        """Probability that a request concerns each application; empty for an embedder without classifier.

        `user` is looked up unless passed.
        """
        ranker = self._ranker()
        if not ranker.has_classifier_for(self._embedder.name):
            return {}
        vectors = RequestVectors.build(_plain(request), user or self.user(request.user), self._embedder)
        return ranker.classifier.app_probabilities(vectors.situated)

    def _checked_state(self, request: Request, k: int | None) -> UserState:
        """The user's state, after validating the request."""
        if k is not None and k < 1:
            raise InvalidRequestError(f"k={k!r}: ask for at least one item")
        state = self._indexes.get(request.user)
        _check_place(request, state.index.user)
        return state

    def _search(self, request: Request, state: UserState, k: int | None) -> ContextHits:
        items = state.index.items
        ranking, depth = self._ranking(request, state, k)
        self._indexes.keep(request.user, state)
        scored_rows = ranking.scored_rows[:depth]
        rows = [row for row, _ in scored_rows]
        # computed for all hits together, when the reasons of any are first read
        reasons = cache(lambda: ranking.reasons(rows))
        zone = state.index.user.zone
        hits = (
            ItemHit(
                meant_occurrence(items[row], request, zone),
                score,
                Reasons(lambda n=n: reasons()[n]),
                ranking.probabilities.get(row),
            )
            for n, (row, score) in enumerate(scored_rows)
        )
        return ContextHits(hits, words_only=ranking.words_only)

    def _ranking(self, request: Request, state: UserState, k: int | None) -> tuple[ContextRanking, int]:
        """The ranking of all candidates, and how many of them to return."""
        depth = min(k or len(state.index.items), len(state.index.items))
        request = _plain(request)
        visible = state.index.visible(request.time)
        choices = partial(self._choices.read, request.user)
        search = ContextSearch(request, state, visible, self._embedder, self._ranker, choices, depth)
        method = self._method if self._has_vectors(request.user, state) else by_words
        ranking = method(search)
        rows = [row for row, _ in ranking.scored_rows]
        order = first_occurrences(rows, state.index.items.__getitem__, depth)
        if order == rows:
            return ranking, depth
        scores = [score for _, score in ranking.scored_rows]  # by place, so that they descend
        return replace(ranking, scored_rows=list(zip(order, scores, strict=True))), depth

    def _has_vectors(self, user: str, state: UserState) -> bool:
        """Whether to rank by vectors now; else they are being made in the background."""
        background = self._background
        if background is None or self._method not in _ENRICHED:
            return True
        if background.is_running(user):
            return False
        missing = self._indexes.missing(user, state)
        if missing <= FEW_ITEMS:
            return True
        background.start(user, missing, lambda: state.enriched.contents)
        return False

    def _report(self, user: str, embedded: int, total: int) -> None:
        if self._background:
            self._background.report(user, embedded)
        if self._progress:
            self._progress(embedded, total)


def _plain(request: Request) -> Request:
    """The request in one spelling: greetings, "please" and "what's" must not change what it finds."""
    text = canonical_request(request.text)
    return request if text == request.text else replace(request, text=text)


def _method(name: str) -> Method:
    if name not in METHODS:
        raise InvalidRequestError(f"unknown method {name!r}: choose one of {', '.join(METHODS)}")
    return METHODS[name]


def _check_place(request: Request, user: User) -> None:
    places = {*user.places, *NAMELESS}
    if isinstance(request.place, str) and request.place not in places:
        raise InvalidRequestError(
            f"user {user.id!r} has no place {request.place!r}: use one of {', '.join(sorted(places))}, "
            "or latitude,longitude"
        )
