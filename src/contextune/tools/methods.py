"""Ranking methods for tools: bm25, semantic, hybrid, learned, and reading on top of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.search import interleave, reciprocal_rank_fusion, similarities, top
from contextune.tools.candidates import select_candidates
from contextune.tools.features import FEATURE_NAMES, Matrix, ToolScene
from contextune.tools.index import ToolIndex
from contextune.tools.query import Floats, ToolQuery
from contextune.tools.ranker import WAS_RIGHT, ToolRanker

_PAST_COLUMNS = [FEATURE_NAMES.index(name) for name in ("past", "past wrong")]
_MIN_SIMILARITY, _FULL_SIMILARITY = 0.7, 0.95
"""A past request adjusts scores from the first similarity on, and fully from the second."""
FUSED = 100
"""Length of each list in fusion. It must not depend on the number of tools wanted, nor does the number of
candidates: the first five would differ from the first five of ten."""


@dataclass(frozen=True, slots=True)
class ToolSearch:
    """One query against one catalogue."""

    index: ToolIndex
    query: ToolQuery
    visible: NDArray[np.bool_]
    """Which tools may be returned."""
    depth: int
    """How many are wanted."""
    ranker: Callable[[], ToolRanker]


@dataclass(frozen=True, slots=True)
class ToolRanking:
    """The result of a method."""

    scored: Sequence[tuple[int, float]]
    """Position and score of each tool, best first; may be more than are wanted."""
    reasons: Callable[[int], tuple[str, ...]]
    """Why the tool at a position was returned."""
    fits: float | None = None
    """Probability that any tool fits, if the method estimates it."""


Method = Callable[[ToolSearch], ToolRanking]


def bm25(search: ToolSearch) -> ToolRanking:
    """BM25T over name, description and parameters; only tools that share a word with the request."""
    tokens, lexical = search.query.tokens, search.index.fields["all"]
    scores = lexical.scores(tokens, visible=search.visible)

    def reasons(position: int) -> tuple[str, ...]:
        shared = lexical.matching_words(tokens, position)
        return (f"shares the words: {', '.join(shared)}",) if shared else ()

    return ToolRanking([(position, score) for position, score in _best(scores, search) if score > 0], reasons)


def semantic(search: ToolSearch) -> ToolRanking:
    """Cosine similarity to the request combined with its context items."""
    scores = similarities(search.query.context_vector, search.index.vectors)
    return ToolRanking(
        _best(scores, search), lambda position: (f"semantic similarity {scores[position]:.2f}",)
    )


def hybrid(search: ToolSearch) -> ToolRanking:
    """Both of the above, combined by reciprocal rank fusion: the usual baseline.

    A request with parts is searched as a whole and by part, and the lists are interleaved.
    """
    whole = _fused(search)
    if not search.query.parts:
        return whole
    rankings = [whole, *(_fused(replace(search, query=part)) for part in search.query.parts)]
    merged = interleave([[position for position, _ in ranking.scored] for ranking in rankings])
    return ToolRanking(
        [(position, 1 / rank) for rank, position in enumerate(merged, 1)],
        lambda position: tuple(
            dict.fromkeys(reason for ranking in rankings for reason in ranking.reasons(position))
        ),
    )


def _fused(search: ToolSearch) -> ToolRanking:
    """BM25 and cosine similarity, combined by reciprocal rank fusion."""
    fused_search = replace(search, depth=FUSED)
    by_words, by_meaning = bm25(fused_search), semantic(fused_search)
    fused = reciprocal_rank_fusion(
        [[position for position, _ in ranking.scored] for ranking in (by_words, by_meaning)]
    )
    return ToolRanking(
        [*fused, *_further(search, [position for position, _ in fused], 0.0)],
        lambda position: (*by_words.reasons(position), *by_meaning.reasons(position)),
    )


def learned(search: ToolSearch) -> ToolRanking:
    """LambdaMART over the features of (request, tool)."""
    index, query = search.index, search.query
    positions = select_candidates(index, query, search.visible)
    if not len(positions):
        return ToolRanking([], lambda _: (), 0.0)
    ranker = search.ranker()
    scene = ToolScene(index, query, positions)
    matrix = scene.matrix()
    model_scores = ranker.model.score(matrix)
    adjustment = past_call_adjustment(matrix, model_scores)
    scores = model_scores + adjustment
    order = np.lexsort((positions, -scores))  # ties follow the catalogue
    row_of = {int(positions[row]): int(row) for row in order}
    scored = [(position, float(scores[row])) for position, row in row_of.items()]
    scored += _further(search, row_of, float(scores.min()) - 1)

    explain = ranker.explain(index, query, positions, matrix, model_scores)

    def reasons(position: int) -> tuple[str, ...]:
        if position not in row_of:
            return ()
        row = row_of[position]
        lifted = (WAS_RIGHT,) if adjustment[row] > 0 else ()
        return tuple(dict.fromkeys((*lifted, *explain(row))))

    fits = _fits(scene, ranker, matrix, model_scores)
    return ToolRanking(scored, reasons, fits)


def _fits(scene: ToolScene, ranker: ToolRanker, matrix: Matrix, scores: Floats) -> float:
    """Probability that any tool fits, without examples.

    The model is trained on descriptions alone, and examples resemble requests that no tool serves too.
    """
    if scene.index.examples is not None:
        matrix = scene.matrix_without_examples(matrix)
        scores = ranker.model.score(matrix)
    return ranker.abstention.any_fits(matrix, scores)


def past_call_adjustment(matrix: Matrix, scores: Floats) -> Floats:
    """What past calls add to the scores: up to the whole score range for tools that were right or wrong.

    The tool that was right for the same text before comes first, so that users do not repeat themselves.
    """
    past = matrix[:, _PAST_COLUMNS]
    if np.isnan(past).all():
        return np.zeros(len(scores))
    right, wrong = np.nan_to_num(past).T
    score_range = float(scores.max() - scores.min())
    width = _FULL_SIMILARITY - _MIN_SIMILARITY
    lift = np.clip((right - _MIN_SIMILARITY) / width, 0, 1) - np.clip((wrong - _MIN_SIMILARITY) / width, 0, 1)
    return score_range * lift.astype(np.float64)


def _further(search: ToolSearch, ranked: Collection[int], score: float) -> list[tuple[int, float]]:
    """If more tools are wanted than are ranked: the others by similarity, all with the same score."""
    if search.depth <= len(ranked):
        return []
    others = search.visible.copy()
    others[list(ranked)] = False
    by_meaning = semantic(replace(search, visible=others, depth=search.depth - len(ranked)))
    return [(position, score) for position, _ in by_meaning.scored]


def _best(scores: NDArray[np.floating[Any]], search: ToolSearch) -> list[tuple[int, float]]:
    best = top(scores, search.depth, visible=search.visible)
    return [(int(position), float(scores[position])) for position in best]


LEXICAL_METHODS = ("bm25",)
"""Methods that need no vectors."""
READING = "reading"
"""Ranks as `learned`; the retriever then reads the first."""
METHODS: Mapping[str, Method] = {
    "bm25": bm25,
    "semantic": semantic,
    "hybrid": hybrid,
    "learned": learned,
    READING: learned,
}
DEFAULT_METHOD = "learned"
