"""Ways to rank the tools of a catalogue for one request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.search import reciprocal_rank_fusion, similarities, top
from contextune.tools.candidates import candidates
from contextune.tools.features import NAMES, Matrix, Places, measure
from contextune.tools.index import ToolIndex
from contextune.tools.query import Floats, ToolQuery
from contextune.tools.ranker import ToolRanker

_LIKE, _SAME = 0.7, 0.95
"""Earlier requests less like than the first say nothing by themselves; from the second on, all."""
_DEPTH = 100
"""How deep a list goes into fusion at least."""


@dataclass(frozen=True, slots=True)
class ToolSearch:
    """One request against one catalogue: which tools it may see, and how many are wanted."""

    index: ToolIndex
    wish: ToolQuery
    visible: NDArray[np.bool_]
    depth: int
    ranker: Callable[[], ToolRanker]


@dataclass(frozen=True, slots=True)
class ToolRanking:
    """Places of tools, best first, with their scores; why each is there; and whether any fits, if known."""

    found: Sequence[tuple[int, float]]
    reasons: Callable[[int], tuple[str, ...]]
    fits: float | None = None


Method = Callable[[ToolSearch], ToolRanking]


def bm25(search: ToolSearch) -> ToolRanking:
    """Words in common, by BM25T."""
    query, lexical = search.wish.words, search.index.fields["all"]
    scores = lexical.scores(query, visible=search.visible)

    def reasons(place: int) -> tuple[str, ...]:
        shared = lexical.matched(query, place)
        return (f"shares the words: {', '.join(shared)}",) if shared else ()

    return ToolRanking(_best(scores, search), reasons)


def semantic(search: ToolSearch) -> ToolRanking:
    """Likeness of meaning to the request, taken with the items it hangs on."""
    scores = similarities(search.wish.in_context, search.index.vectors)
    return ToolRanking(_best(scores, search), lambda place: (f"likeness of meaning {scores[place]:.2f}",))


def hybrid(search: ToolSearch) -> ToolRanking:
    """Both of the above, joined by reciprocal rank fusion: what one would plug in today."""
    deep = replace(search, depth=max(search.depth, _DEPTH))
    lexical, meant = bm25(deep), semantic(deep)
    # what shares no word stands in no order but the catalogue's, which says nothing of the request
    shared = [place for place, score in lexical.found if score > 0]
    fused = reciprocal_rank_fusion([shared, [place for place, _ in meant.found]])
    return ToolRanking(fused[: search.depth], lambda place: (*lexical.reasons(place), *meant.reasons(place)))


def learned(search: ToolSearch) -> ToolRanking:
    """LambdaMART over the features of (request, tool)."""
    index, wish = search.index, search.wish
    places = candidates(index, wish, search.visible, depth=min(search.depth, _DEPTH))
    if not len(places):
        return ToolRanking([], lambda _: (), 0.0)
    ranker = search.ranker()
    matrix = measure(index, wish, places)
    plain = ranker.scores.score(matrix)
    scores = plain + remembered(matrix, plain)
    order = np.lexsort((places, -scores))  # of equal scores, the order of the catalogue
    number = {int(places[n]): int(n) for n in order}
    found = [(place, float(scores[n])) for place, n in number.items()]
    if search.depth > len(found):  # more is wanted than was looked at closely
        rest = search.visible.copy()
        rest[places] = False
        lowest = float(scores.min()) - 1
        found += [(place, lowest) for place, _ in semantic(replace(search, visible=rest)).found]

    explain = ranker.explained(index, wish, places, matrix, plain)

    def reasons(place: int) -> tuple[str, ...]:
        return explain(number[place]) if place in number else ()

    return ToolRanking(found[: search.depth], reasons, _fits(search, ranker, places, matrix, plain))


def _fits(search: ToolSearch, ranker: ToolRanker, places: Places, matrix: Matrix, scores: Floats) -> float:
    """Whether any fits is learnt from descriptions alone: an example is also like what nothing serves."""
    if search.index.examples is not None:
        described = replace(search.index, examples=None, example_of=None)
        matrix = measure(described, search.wish, places)
        scores = ranker.scores.score(matrix)
    return ranker.abstain.any_fits(matrix, scores)


def remembered(matrix: Matrix, scores: Floats) -> Floats:
    """What is added to scores for what was right before, and taken for what was wrong.

    What served the same words is put on top, less so the less like they are: somebody who has told it once
    should not have to tell it again, whatever is usual elsewhere.
    """
    right, wrong = (np.nan_to_num(matrix[:, NAMES.index(name)]) for name in ("past", "past wrong"))
    spread = float(scores.max() - scores.min())
    lift = np.clip((right - _LIKE) / (_SAME - _LIKE), 0, 1) - np.clip((wrong - _LIKE) / (_SAME - _LIKE), 0, 1)
    return spread * lift.astype(np.float64)


def _best(scores: NDArray[np.floating[Any]], search: ToolSearch) -> list[tuple[int, float]]:
    return [(int(place), float(scores[place])) for place in top(scores, search.depth, visible=search.visible)]


METHODS: Mapping[str, Method] = {"bm25": bm25, "semantic": semantic, "hybrid": hybrid, "learned": learned}
DEFAULT = "learned"
