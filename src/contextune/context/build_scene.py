"""From a request and what is known of its user to the scene that signals are read off."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.context.candidates import candidates
from contextune.context.enriched_text import moment_text
from contextune.context.history import vector_in_context
from contextune.context.index import UserIndex, UserState
from contextune.context.ranker import ContextRanker
from contextune.context.signals import RequestClasses, Scene, Similarities, UseColumns
from contextune.context.signals.columns import NOWHERE, hours
from contextune.context.signals.place import kilometres
from contextune.embed import Embedder, Matrix
from contextune.search import similarities, tokenize
from contextune.types import Request, User, local_time

_HERE = 0.3
"""Within so many kilometres of a place, somebody is there."""
_UNREAD = RequestClasses({}, {}, {})
_BLOCK = 512
"""Rows that stay in a processor's cache while several vectors are compared with them."""


def named_place(request: Request, user: User) -> str | None:
    """The place by name: as given, or the user's nearest to the coordinates, if that is near enough."""
    if request.place is None or isinstance(request.place, str):
        return request.place
    here = request.place
    away = {name: kilometres(here, there) for name, there in user.places.items()}
    nearest = min(away, key=away.__getitem__, default=None)
    return nearest if nearest is not None and away[nearest] <= _HERE else None


@dataclass(frozen=True)
class RequestVectors:
    """A request as vectors: what is said, and what is around it."""

    bare: Matrix
    around: Matrix

    @classmethod
    def of(cls, request: Request, user: User, embedder: Embedder) -> "RequestVectors":
        """By an embedder that remembers, so that what is around, which is seldom new, costs nothing."""
        around = moment_text(local_time(request.time, user.zone), named_place(request, user))
        return cls(vector_in_context(request, embedder), embedder.embed([around])[0])

    @property
    def meant(self) -> Matrix:
        """Both together."""
        both = self.bare + self.around
        return both / np.float32(np.linalg.norm(both) + 1e-9)


def build_scene(
    request: Request, known: UserState, embedder: Embedder, ranker: ContextRanker, depth: int
) -> Scene:
    """Everything that signals may look at, for the candidates worth it."""
    user = known.index.user
    asked = RequestVectors.of(request, user, embedder)
    return scene_of(
        request,
        known.index,
        known.gallery.columns(known.index.facts),
        vectors=known.gallery.vectors(local_time(request.time, user.zone)),
        asked=asked,
        reading=ranker.reader.read(asked.meant, asked.bare) if ranker.reads(embedder.name) else _UNREAD,
        depth=depth,
    )


def scene_of(
    request: Request,
    index: UserIndex,
    uses: UseColumns,
    *,
    vectors: Matrix,
    asked: RequestVectors,
    reading: RequestClasses,
    depth: int,
) -> Scene:
    """The scene, given the vectors of the items, a row each, and of the request."""
    now, place = local_time(request.time, index.user.zone), named_place(request, index.user)
    visible, facts, moment = index.visible(request.time), index.facts, hours(now)
    situated, bare = _alike((asked.meant, asked.bare), vectors)
    lexical = index.lexical_scores(tokenize(request.text), visible)
    before = uses.before(moment)
    here = facts.place_code.get(place, NOWHERE) if place else NOWHERE
    rows = candidates(visible, situated, bare, lexical, facts, before, now=moment, here=here, depth=depth)
    looked = vectors[rows]
    around = similarities(asked.around, looked).astype(np.float64)  # chooses no candidates
    return Scene(
        text=request.text,
        now=now,
        place=place,
        facts=facts,
        uses=before,
        rows=rows,
        likeness=Similarities(situated[rows], bare[rows], around, lexical[rows]),
        vectors=looked,
        reading=reading,
    )


def _alike(queries: Sequence[Matrix], vectors: Matrix) -> NDArray[np.float64]:
    """The likeness of each query to every row of the vectors.

    Block by block: of a large store, reading the vectors takes longer than multiplying them.
    """
    found = np.empty((len(queries), len(vectors)))
    for start in range(0, len(vectors), _BLOCK):
        block = slice(start, start + _BLOCK)
        for number, query in enumerate(queries):
            found[number, block] = similarities(query, vectors[block])
    return found
