"""Ways to rank a user's items. Each application is searched by itself, then the lists are joined."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import RequestVectors, build_scene
from contextune.context.index import UserIndex, UserState
from contextune.context.ranker import ContextRanker
from contextune.context.signals import FAMILIES
from contextune.embed import Embedder
from contextune.search import reciprocal_rank_fusion, similarities, tokenize, top
from contextune.types import Request, local_time

_DEPTH = 200
"""How deep a list goes into fusion at least, however few items are wanted in the end."""


@dataclass(frozen=True, slots=True)
class ContextSearch:
    """One request against what is known of its user: what it may see, and how many items are wanted."""

    request: Request
    known: UserState
    visible: NDArray[np.bool_]
    embedder: Embedder
    ranker: Callable[[], ContextRanker]
    depth: int

    @property
    def index(self) -> UserIndex:
        """The user's items."""
        return self.known.index


def _none_learned(positions: Sequence[int]) -> list[Mapping[str, float]]:
    return [{} for _ in positions]


@dataclass(frozen=True, slots=True)
class ContextRanking:
    """Positions of items, best first, with their scores, and why some of them are where they are."""

    found: Sequence[tuple[int, float]]
    reasons: Callable[[Sequence[int]], Sequence[tuple[str, ...]]]
    signals: Callable[[Sequence[int]], Sequence[Mapping[str, float]]] = _none_learned
    """What each family of signals added to the scores of some; nothing where nothing is learned."""


Method = Callable[[ContextSearch], ContextRanking]


def bm25(search: ContextSearch) -> ContextRanking:
    """Words in common, by BM25T. Scores of different collections do not compare, so ranks are joined."""
    query, index = tokenize(search.request.text), search.index
    lists: list[tuple[float, list[int]]] = []
    for app, part in index.apps.items():
        seen = search.visible[part]
        scores = index.lexical[app].scores(query, visible=seen)
        best = top(scores, search.depth, visible=seen)
        lists.append((float(scores.max()), (best + part.start).tolist()))
    lists.sort(key=lambda entry: -entry[0])  # of two firsts, the one of the store with the better match leads

    def reasons(position: int) -> tuple[str, ...]:
        app = index.items[position].app
        shared = index.lexical[app].matched(query, position - index.apps[app].start)
        return (f"shares the words: {', '.join(shared)}",) if shared else ()

    return ContextRanking(reciprocal_rank_fusion([positions for _, positions in lists]), _each(reasons))


def semantic(search: ContextSearch) -> ContextRanking:
    """Likeness of meaning: the cosine between request and item, which compares across applications."""
    index = search.index
    query = search.embedder.embed([search.request.text])[0]
    scores = np.zeros(len(index.items), np.float32)
    for part in index.apps.values():
        scores[part] = similarities(query, index.vectors[part])
    best = top(scores, search.depth, visible=search.visible)
    return _by_score(scores, best)


def hybrid(search: ContextSearch) -> ContextRanking:
    """Both of the above, joined by reciprocal rank fusion: what one would plug in today."""
    deep = replace(search, depth=max(search.depth, _DEPTH))
    parts = [method(deep) for method in (bm25, semantic)]
    fused = reciprocal_rank_fusion([[position for position, _ in part.found] for part in parts])
    return ContextRanking(
        fused,
        lambda positions: [(*a, *b) for a, b in zip(*(p.reasons(positions) for p in parts), strict=True)],
    )


def situated(search: ContextSearch) -> ContextRanking:
    """Likeness of meaning, the request with its time and place, the items with all that is around them."""
    user, request = search.index.user, search.request
    asked = RequestVectors.of(request, user, search.embedder)
    scores = similarities(asked.meant, search.known.gallery.vectors(local_time(request.time, user.zone)))
    return _by_score(scores, top(scores, search.depth, visible=search.visible))


def learned(search: ContextSearch) -> ContextRanking:
    """LambdaMART over all signals, then reciprocal rank fusion."""
    if not search.visible.any():
        return ContextRanking([], lambda _: [])
    ranker = search.ranker()
    scene = build_scene(search.request, search.known, search.embedder, ranker, search.depth)
    ranked = ranker.rank(scene)
    number = {int(scene.rows[n]): int(n) for n in ranked.order}
    found = [(position, float(ranked.fused[n])) for position, n in number.items()]
    if search.depth > len(found):  # more of a large store is wanted than was looked at closely
        rest = search.visible.copy()
        rest[scene.rows] = False
        found += [(position, 0.0) for position, _ in situated(replace(search, visible=rest)).found]

    # those that were not looked at closely come last
    def looked(positions: Sequence[int]) -> NDArray[np.intp]:
        return np.array([number[position] for position in positions if position in number], np.intp)

    def reasons(positions: Sequence[int]) -> Sequence[tuple[str, ...]]:
        said = ranked.reasons(looked(positions))
        return [*said, *[()] * (len(positions) - len(said))]

    def signals(positions: Sequence[int]) -> Sequence[Mapping[str, float]]:
        rows = [dict(zip(FAMILIES, row.tolist(), strict=True)) for row in ranked.above(looked(positions))]
        return [*rows, *_none_learned(positions[len(rows) :])]

    return ContextRanking(found, reasons, signals)


def _by_score(scores: NDArray[np.float32], best: NDArray[np.intp]) -> ContextRanking:
    return ContextRanking(
        [(int(position), float(scores[position])) for position in best],
        _each(lambda position: (f"likeness of meaning {scores[position]:.2f}",)),
    )


def _each(
    reasons: Callable[[int], tuple[str, ...]],
) -> Callable[[Sequence[int]], Sequence[tuple[str, ...]]]:
    return lambda positions: [reasons(position) for position in positions]


METHODS: Mapping[str, Method] = {
    "bm25": bm25,
    "semantic": semantic,
    "hybrid": hybrid,
    "situated": situated,
    "learned": learned,
}
DEFAULT = "learned"
