"""Request + state of the user → `Scene`, the input of the features."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.context.candidates import select_candidates
from contextune.context.enriched.row_vectors import RowVectors
from contextune.context.enriched.text import moment_text
from contextune.context.history import complete_from_history, day_of_history, embed_with_history
from contextune.context.index import UserIndex, UserState
from contextune.context.ranker import ContextRanker
from contextune.context.signals import RequestClasses, Scene, Similarities, UseColumns
from contextune.context.signals.columns import NO_PLACE, to_hours
from contextune.context.signals.place import distance_km
from contextune.embed import Embedder, Matrix, readability
from contextune.search import similarities, tokenize
from contextune.types import Request, User, coordinates_of, local_time

_MAX_DISTANCE_KM = 0.3
"""Coordinates this close to a named place are taken for it."""
_UNCLASSIFIED = RequestClasses({}, {}, {})
MIN_READABLE = 0.5
"""With less of a request that the embedder can read, its vectors would mislead."""


def resolve_place(request: Request, user: User) -> str | None:
    """The name of the request's place: as given, or the user's closest named place to the coordinates."""
    if request.place is None or isinstance(request.place, str):
        return request.place
    here = request.place
    known = {name: coordinates_of(location) for name, location in user.places.items()}
    distances = {name: distance_km(here, there) for name, there in known.items() if there is not None}
    nearest = min(distances, key=distances.__getitem__, default=None)
    return nearest if nearest is not None and distances[nearest] <= _MAX_DISTANCE_KM else None


@dataclass(frozen=True)
class RequestVectors:
    """Vectors of a request's text, and of its time and place."""

    text: Matrix
    moment: Matrix

    @classmethod
    def build(cls, request: Request, user: User, embedder: Embedder) -> "RequestVectors":
        """Embed a request; a caching embedder saves the second vector, since moments recur."""
        moment = moment_text(local_time(request.time, user.zone), resolve_place(request, user))
        return cls(embed_with_history(request, embedder), embedder.embed([moment])[0])

    @property
    def situated(self) -> Matrix:
        """The normalised sum of both."""
        total = self.text + self.moment
        return total / np.float32(np.linalg.norm(total) + 1e-9)


def build_scene(
    request: Request, state: UserState, embedder: Embedder, ranker: ContextRanker, depth: int
) -> Scene:
    """Embed and classify the request, select candidates, and collect what the features read."""
    user = state.index.user
    readable = readability(embedder, complete_from_history(request))
    if readable < MIN_READABLE:
        return scene_without_vectors(
            request, state.index, state.enriched.columns(state.index.item_columns), depth
        )
    vectors = RequestVectors.build(request, user, embedder)
    return scene_from_vectors(
        request,
        state.index,
        state.enriched.columns(state.index.item_columns),
        vectors=state.enriched.row_vectors(local_time(request.time, user.zone)),
        contents=state.enriched.contents,
        request_vectors=vectors,
        request_classes=ranker.classifier.classify(vectors.situated, vectors.text)
        if ranker.has_classifier_for(embedder.name)
        else _UNCLASSIFIED,
        depth=depth,
        readability=readable,
    )


def scene_from_vectors(
    request: Request,
    index: UserIndex,
    uses: UseColumns,
    *,
    vectors: RowVectors | Matrix,
    contents: RowVectors | Matrix,
    request_vectors: RequestVectors,
    request_classes: RequestClasses,
    depth: int,
    readability: float = 1.0,
) -> Scene:
    """The scene for given vectors of the request and of the items, with and without habits, a row each."""
    vectors, contents = (
        each if isinstance(each, RowVectors) else RowVectors.from_matrix(each) for each in (vectors, contents)
    )
    situated, text = vectors.similarities((request_vectors.situated, request_vectors.text))
    words = _WordScores.build(request, index)
    rows = _candidates(request, words, index, uses, situated, text, depth)
    candidate_vectors = vectors.take(rows)
    # not used to select candidates, so computed for them only
    moment = similarities(request_vectors.moment, candidate_vectors).astype(np.float64)
    content = similarities(request_vectors.text, contents.take(rows)).astype(np.float64)
    preceding = index.preceding[rows]
    before = np.where(preceding >= 0, text[preceding], np.nan)
    found = Similarities(
        situated[rows], text[rows], moment, words.by_app[rows], content, words.in_store[rows], before
    )
    return _scene(
        request, words.query, index, uses, rows, found, candidate_vectors, request_classes, readability
    )


def scene_without_vectors(request: Request, index: UserIndex, uses: UseColumns, depth: int) -> Scene:
    """The scene of a request that the embedder cannot read, or of items that it has not read yet.

    All that needs a vector is missing; words, times, uses, people and places remain.
    """
    words = _WordScores.build(request, index)
    rows = _candidates(request, words, index, uses, words.in_store, words.by_app, depth)
    missing = np.full(len(rows), np.nan)
    found = Similarities(
        missing, missing, missing, words.by_app[rows], missing, words.in_store[rows], missing
    )
    vectors = np.zeros((len(rows), 1), np.float32)
    return _scene(request, words.query, index, uses, rows, found, vectors, _UNCLASSIFIED, 0.0)


@dataclass(frozen=True, eq=False)
class _WordScores:
    """The request completed from its history, and how well all items match its words."""

    query: str
    by_app: NDArray[np.float64]
    in_store: NDArray[np.float64]

    @classmethod
    def build(cls, request: Request, index: UserIndex) -> "_WordScores":
        visible, query = index.visible(request.time), complete_from_history(request)
        words = tokenize(query)
        return cls(
            query,
            index.lexical_scores(words, visible),
            index.store_lexical.scores(words, visible=visible),
        )


def _candidates(
    request: Request,
    words: _WordScores,
    index: UserIndex,
    uses: UseColumns,
    situated: NDArray[np.float64],
    text: NDArray[np.float64],
    depth: int,
) -> NDArray[np.int64]:
    now, place = local_time(request.time, index.user.zone), resolve_place(request, index.user)
    here = index.item_columns.place_codes.get(place, NO_PLACE) if place else NO_PLACE
    return select_candidates(
        index.visible(request.time),
        situated,
        text,
        words.by_app,
        index,
        uses.before(to_hours(now)),
        query=words.query,
        now=now,
        here=here,
        depth=depth,
    )


def _scene(
    request: Request,
    query: str,
    index: UserIndex,
    uses: UseColumns,
    rows: NDArray[np.int64],
    found: Similarities,
    vectors: Matrix,
    request_classes: RequestClasses,
    readability: float,
) -> Scene:
    now = local_time(request.time, index.user.zone)
    return Scene(
        text=request.text,
        now=now,
        place=resolve_place(request, index.user),
        item_columns=index.item_columns,
        uses=uses.before(to_hours(now)),
        rows=rows,
        similarities=found,
        vectors=vectors,
        request_classes=request_classes,
        readability=readability,
        query=query if query != request.text else "",
        day=day.text if (day := day_of_history(request, now)) is not None else "",
    )
