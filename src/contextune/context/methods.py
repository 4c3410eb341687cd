"""Ways to rank a user's items. Each application is searched by itself, then the lists are joined."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.context.index import UserIndex
from contextune.embed import Embedder
from contextune.search import reciprocal_rank_fusion, similarities, top, words
from contextune.types import Request

_DEPTH = 200
"""How deep a list goes into fusion at least, however few items are wanted in the end."""


@dataclass(frozen=True, slots=True)
class Search:
    """One request against one user's index: what may be seen of it, and how many items are wanted."""

    request: Request
    index: UserIndex
    visible: NDArray[np.bool_]
    embedder: Embedder
    depth: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """Positions of items, best first, with their scores, and why an item is where it is."""

    found: Sequence[tuple[int, float]]
    reasons: Callable[[int], tuple[str, ...]]


Method = Callable[[Search], Ranking]


def bm25(search: Search) -> Ranking:
    """Words in common, by BM25T. Scores of different collections do not compare, so ranks are joined."""
    query, index = words(search.request.text), search.index
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

    return Ranking(reciprocal_rank_fusion([positions for _, positions in lists]), reasons)


def semantic(search: Search) -> Ranking:
    """Likeness of meaning: the cosine between request and item, which compares across applications."""
    index = search.index
    query = search.embedder.embed([search.request.text])[0]
    scores = np.zeros(len(index.items), np.float32)
    for part in index.apps.values():
        scores[part] = similarities(query, index.vectors[part])
    best = top(scores, search.depth, visible=search.visible)
    return Ranking(
        [(int(position), float(scores[position])) for position in best],
        lambda position: (f"likeness of meaning {scores[position]:.2f}",),
    )


def hybrid(search: Search) -> Ranking:
    """Both of the above, joined by reciprocal rank fusion: what one would plug in today."""
    deep = Search(search.request, search.index, search.visible, search.embedder, max(search.depth, _DEPTH))
    parts = [method(deep) for method in (bm25, semantic)]
    fused = reciprocal_rank_fusion([[position for position, _ in part.found] for part in parts])
    return Ranking(fused, lambda position: tuple(why for part in parts for why in part.reasons(position)))


METHODS: Mapping[str, Method] = {"bm25": bm25, "semantic": semantic, "hybrid": hybrid}
DEFAULT = "semantic"
