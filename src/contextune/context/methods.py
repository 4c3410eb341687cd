"""Ranking methods: bm25, semantic, hybrid, situated, learned and reading.

`bm25` searches each application as its own collection and fuses the lists; `hybrid` adds a search of all
items as one collection, and `semantic`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import MIN_READABLE, RequestVectors, build_scene
from contextune.context.history import complete_from_history, embed_with_history
from contextune.context.index import UserIndex, UserState
from contextune.context.learning.past_choices import CHOSEN, PastChoices, prefer_chosen
from contextune.context.ranker import ContextRanker, RankedScene
from contextune.context.reading import default_rankers, read_items
from contextune.context.signals import FAMILIES
from contextune.context.without_vectors import likelihoods
from contextune.embed import Embedder
from contextune.search import RRF_K, reciprocal_rank_fusion, similarities, tokenize, top
from contextune.types import Item, Request, local_time

_MIN_FUSION_DEPTH = 200
"""Minimum length of the lists that are fused, however few items are wanted."""
READ_FROM = 100
"""Visible items from which on the reading model reads the best."""
_TIE_WEIGHT = 1e-9
"""Only breaks ties."""


@dataclass(frozen=True, slots=True)
class ContextSearch:
    """Input of a method: a request, the state of its user, and the number of items wanted."""

    request: Request
    state: UserState
    visible: NDArray[np.bool_]
    """Whether each item existed at the time of the request."""
    embedder: Embedder
    ranker: Callable[[], ContextRanker]
    choices: Callable[[], PastChoices]
    depth: int

    @property
    def index(self) -> UserIndex:
        """The user's items."""
        return self.state.index


def _no_signals(rows: Sequence[int]) -> list[Mapping[str, float]]:
    return [{} for _ in rows]


@dataclass(frozen=True, slots=True)
class ContextRanking:
    """Output of a method: rows of items with scores, best first, and functions that explain some of them."""

    scored_rows: Sequence[tuple[int, float]]
    reasons: Callable[[Sequence[int]], Sequence[tuple[str, ...]]]
    signals: Callable[[Sequence[int]], Sequence[Mapping[str, float]]] = _no_signals
    """Contribution of each feature family; empty for methods that are not learned."""
    words_only: bool = False
    """Whether the method did without vectors that it would otherwise use."""
    probabilities: Mapping[int, float] = field(default_factory=dict[int, float])
    """By row: the probability that the request needs the item, of those that were read."""


Method = Callable[[ContextSearch], ContextRanking]


def bm25(search: ContextSearch) -> ContextRanking:
    """BM25T per application; fused by rank, since scores of different collections are not comparable.

    Items that share no word with the request come after all others, with score 0.
    """
    query, index = tokenize(complete_from_history(search.request)), search.index
    matches = np.zeros(len(index.items), np.bool_)
    lists: list[tuple[float, list[int]]] = []
    for app, part in index.apps.items():
        visible = search.visible[part]
        scores = index.lexical[app].scores(query, visible=visible)
        matches[part] = scores > 0
        best = top(scores, search.depth, visible=visible)
        lists.append((float(scores.max()), (best + part.start).tolist()))

    def explain(row: int) -> tuple[str, ...]:
        app = index.items[row].app
        words = index.lexical[app].matching_words(query, row - index.apps[app].start)
        return (f"shares the words: {', '.join(words)}",) if words else ()

    return ContextRanking(join_applications(lists, matches), _for_each(explain))


def join_applications(
    lists: Sequence[tuple[float, Sequence[int]]], matches: NDArray[np.bool_]
) -> list[tuple[int, float]]:
    """Join the lists of several applications, each with its best score, by rank.

    Rows that do not match come after all others, with score 0.
    """
    # ties go to the application with the best match
    fused = reciprocal_rank_fusion([rows for _, rows in sorted(lists, key=lambda entry: -entry[0])])
    matching = [(row, score) for row, score in fused if matches[row]]
    return [*matching, *((row, 0.0) for row, _ in fused if not matches[row])]


def semantic(search: ContextSearch) -> ContextRanking:
    """Cosine similarity of request and item, which is comparable across applications."""
    index = search.index
    query = embed_with_history(search.request, search.embedder)
    scores = np.zeros(len(index.items), np.float32)
    for part in index.apps.values():
        scores[part] = similarities(query, index.vectors[part])
    return _by_similarity(scores, top(scores, search.depth, visible=search.visible))


def hybrid(search: ContextSearch) -> ContextRanking:
    """Reciprocal rank fusion of `bm25`, BM25T over all items as one collection, and `semantic`.

    Per application alone, the best match of an application that the request is not about is on a par with
    the best of all; over all items alone, an application of long texts hides the others.

    Items that share no word with the request have the same lexical rank, the one after the last match. Left
    out of the lexical lists, they would lose to any item that shares "the" with the request.
    """
    deep = replace(search, depth=max(search.depth, _MIN_FUSION_DEPTH))
    parts = [method(deep) for method in (bm25, _bm25_over_all, semantic)]
    lists = [[row for row, score in part.scored_rows if score > 0] for part in parts[:2]]
    scores = hybrid_scores([*lists, [row for row, _ in parts[2].scored_rows]], len(search.visible))
    best = top(scores, search.depth, visible=search.visible)
    return ContextRanking(
        [(int(row), float(scores[row])) for row in best],
        lambda rows: [
            (*words, *similarity)
            for words, similarity in zip(parts[0].reasons(rows), parts[2].reasons(rows), strict=True)
        ],
    )


def _bm25_over_all(search: ContextSearch) -> ContextRanking:
    """BM25T over all items as one collection; only items that share a word with the request."""
    query, lexical = tokenize(complete_from_history(search.request)), search.index.store_lexical
    scores = lexical.scores(query, visible=search.visible)
    best = top(scores, search.depth, visible=scores > 0)
    return ContextRanking([(int(row), float(scores[row])) for row in best], lambda rows: [() for _ in rows])


def by_words(search: ContextSearch) -> ContextRanking:
    """BM25T per application and over all items; equal matches are ordered by their uses and times.

    Items that share no word follow. What the user chose for the same words comes first.
    """
    deep = replace(search, depth=max(search.depth, _MIN_FUSION_DEPTH))
    parts = [bm25(deep), _bm25_over_all(deep)]
    scores = hybrid_scores(
        [[row for row, score in part.scored_rows if score > 0] for part in parts], len(search.visible)
    )
    likely = likelihoods(search.request, search.state)
    best = top(scores + likely * _TIE_WEIGHT, deep.depth, visible=search.visible)
    scored_rows = [(int(row), float(scores[row])) for row in best]
    order, chosen = _prefer_chosen_by_words(search, scored_rows, dict(parts[1].scored_rows))

    def reasons(rows: Sequence[int]) -> Sequence[tuple[str, ...]]:
        explained = zip(rows, parts[0].reasons(rows), strict=True)
        return [(CHOSEN, *words) if row in chosen else words for row, words in explained]

    return ContextRanking([scored_rows[n] for n in order], reasons, words_only=True)


def _prefer_chosen_by_words(
    search: ContextSearch, ranked: Sequence[tuple[int, float]], word_scores: Mapping[int, float]
) -> tuple[Sequence[int], frozenset[int]]:
    """The places of the ranked rows in a new order, and the rows that feedback on such words moved up."""
    choices, request = search.choices(), search.request
    judged, same = (
        choices.judge_by_words(request.text, request.time, search.index.user.zone)
        if choices.feedback and not request.history
        else ({}, False)
    )
    if not judged:
        return range(len(ranked)), frozenset()
    items = search.index.items
    # of the very same request, nothing has to be weighed against what it says
    said = [0.0 if same else word_scores.get(row, 0.0) for row, _ in ranked]
    order = prefer_chosen([items[row].id for row, _ in ranked], judged, said)
    return order, frozenset(ranked[old][0] for new, old in enumerate(order) if new < old)


def hybrid_scores(lists: Sequence[Sequence[int]], size: int) -> NDArray[np.float64]:
    """Reciprocal rank fusion over all of `size` items: those not in a list share the rank after its last."""
    scores = np.zeros(size)
    for rows in lists:
        ranks = np.full(size, len(rows) + 1.0)
        ranks[rows] = np.arange(1, len(rows) + 1)
        scores += 1 / (RRF_K + ranks)
    return scores


def situated(search: ContextSearch) -> ContextRanking:
    """Cosine similarity of the request with its time and place, and the enriched items."""
    user, request = search.index.user, search.request
    query = RequestVectors.build(request, user, search.embedder)
    vectors = search.state.enriched.row_vectors(local_time(request.time, user.zone))
    scores = vectors.similarities([query.situated])[0]
    return _by_similarity(scores, top(scores, search.depth, visible=search.visible))


def learned(search: ContextSearch) -> ContextRanking:
    """LambdaMART over all features, then reciprocal rank fusion, then what the user chose for such requests.

    For a request in a script that the embedder cannot read, nothing that needs its vector counts.
    """
    return _learned(search, reads=False)


def reading(search: ContextSearch) -> ContextRanking:
    """As `learned`, then a ranker trained on whole stores, and the reading model over its best items.

    A store with few items needs neither: `learned` was trained on such.
    """
    return _learned(search, reads=int(search.visible.sum()) >= READ_FROM)


def _learned(search: ContextSearch, *, reads: bool) -> ContextRanking:
    if not search.visible.any():
        return ContextRanking([], lambda _: [])
    ranker = search.ranker()
    scene = build_scene(search.request, search.state, search.embedder, ranker, search.depth)
    ranked = ranker.rank(scene)
    read = None
    if reads and scene.readability >= MIN_READABLE:
        read = read_items(search.request, search.state, ranked, default_rankers())
    order, chosen = _prefer_chosen(search, ranked, ranked.order.tolist() if read is None else read.order)
    candidate_by_row = {int(scene.rows[n]): n for n in order}
    scores = ranked.fused[ranked.order].tolist()  # by place: a chosen item has the score of its new place
    scored_rows = list(zip(candidate_by_row, scores, strict=True))
    if search.depth > len(scored_rows):  # more items are wanted than there are candidates
        rest = search.visible.copy()
        rest[scene.rows] = False
        rest_ranking = situated(replace(search, visible=rest))
        scored_rows += [(row, 0.0) for row, _ in rest_ranking.scored_rows]

    # items that are not candidates have no explanations
    def candidates(rows: Sequence[int]) -> NDArray[np.intp]:
        return np.array([candidate_by_row[row] for row in rows if row in candidate_by_row], np.intp)

    def reasons(rows: Sequence[int]) -> Sequence[tuple[str, ...]]:
        numbers = candidates(rows)
        explained = iter(
            (CHOSEN, *reasons) if n in chosen else reasons
            for n, reasons in zip(numbers.tolist(), ranked.reasons(numbers), strict=True)
        )
        return [next(explained) if row in candidate_by_row else () for row in rows]

    def signals(rows: Sequence[int]) -> Sequence[Mapping[str, float]]:
        contributions = ranked.family_contributions(candidates(rows))
        explained = iter([dict(zip(FAMILIES, row.tolist(), strict=True)) for row in contributions])
        return [next(explained) if row in candidate_by_row else {} for row in rows]

    probabilities = {int(scene.rows[n]): share for n, share in read.probabilities.items()} if read else {}
    return ContextRanking(scored_rows, reasons, signals, scene.readability < MIN_READABLE, probabilities)


def _prefer_chosen(
    search: ContextSearch, ranked: RankedScene, before: list[int]
) -> tuple[list[int], frozenset[int]]:
    """The candidates in order, and those that the user's feedback on similar requests moved up."""
    request, choices = search.request, search.choices()
    if not choices.feedback:
        return before, frozenset()
    same, zone = False, search.index.user.zone
    if ranked.scene.readability < MIN_READABLE:
        judged, same = (
            ({}, False) if request.history else choices.judge_by_words(request.text, request.time, zone)
        )
    else:
        judged = choices.judge(embed_with_history(request, search.embedder), request.time, zone)
    if not judged:
        return before, frozenset()
    items: list[Item] = ranked.scene.items
    # of the very same request, nothing has to be weighed against what it says
    said = [0.0] * len(items) if same else ranked.said.tolist()
    ids = [items[n].id for n in before]
    places = prefer_chosen(ids, judged, [said[n] for n in before])
    moved = frozenset(before[old] for new, old in enumerate(places) if new < old)
    return [before[old] for old in places], moved


def _by_similarity(scores: NDArray[np.float32], best: NDArray[np.intp]) -> ContextRanking:
    return ContextRanking(
        [(int(row), float(scores[row])) for row in best],
        _for_each(lambda row: (f"semantic similarity {scores[row]:.2f}",)),
    )


def _for_each(
    explain: Callable[[int], tuple[str, ...]],
) -> Callable[[Sequence[int]], Sequence[tuple[str, ...]]]:
    return lambda rows: [explain(row) for row in rows]


METHODS: Mapping[str, Method] = {
    "bm25": bm25,
    "semantic": semantic,
    "hybrid": hybrid,
    "situated": situated,
    "learned": learned,
    "reading": reading,
}
DEFAULT_METHOD = "reading"
