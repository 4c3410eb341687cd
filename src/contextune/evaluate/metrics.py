"""Retrieval metrics over whole runs at once: one float per query, so that statistics can follow.

What a ranking is worth depends only on the grades of the things at each rank, so a run and its judgements
are turned into arrays once (`JudgedRanking`) and every metric is a few array operations on them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from contextune.errors import InvalidDataError

Run = Mapping[str, Sequence[str]]
"""Query id → ranked ids, best first."""
Qrels = Mapping[str, Mapping[str, int]]
"""Query id → id → grade; only a grade above 0 makes a thing relevant."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRanking:
    """A run seen through its judgements.

    The queries are those of the judgements: one the run lacks keeps its place with an empty ranking, because
    dropping it would reward a retriever for staying silent.
    """

    queries: tuple[str, ...]
    gains: Ints
    """Grade of the thing at each rank, queries × depth, 0 where the ranking has ended."""
    ideal: Ints
    """Grades of the relevant things, best first, queries × most relevant things, padded with 0."""
    relevant: Ints
    """How many things are relevant to each query; at least one."""
    lengths: Ints
    """How many things were ranked for each query."""

    @classmethod
    def of(cls, run: Run, qrels: Qrels) -> Self:
        """Grade every ranked thing; queries of the run without judgements are left aside."""
        if not qrels:
            raise InvalidDataError("no judgements: qrels is empty, so there is nothing to measure")
        ideals = [_ideal(query, grades) for query, grades in qrels.items()]
        gains = [_gains(query, run.get(query, ()), grades) for query, grades in qrels.items()]
        return cls(
            queries=tuple(qrels),
            gains=_padded(gains),
            ideal=_padded(ideals),
            relevant=_frozen([len(row) for row in ideals]),
            lengths=_frozen([len(row) for row in gains]),
        )


def _ideal(query: str, grades: Mapping[str, int]) -> list[int]:
    for thing, grade in grades.items():
        if grade < 0:
            raise InvalidDataError(f"query {query!r}: {thing!r} has grade {grade!r}; grades start at 0")
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    if not ideal:
        raise InvalidDataError(
            f"query {query!r} has no relevant thing, so it cannot be measured; leave it out of qrels"
        )
    return ideal


def _gains(query: str, ranking: Sequence[str], grades: Mapping[str, int]) -> list[int]:
    if len(set(ranking)) != len(ranking):
        twice = next(thing for place, thing in enumerate(ranking) if thing in ranking[:place])
        raise InvalidDataError(
            f"query {query!r}: {twice!r} is ranked more than once; keep its best rank only"
        )
    return [grades.get(thing, 0) for thing in ranking]


def _padded(rows: Sequence[Sequence[int]]) -> Ints:
    array = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    array.flags.writeable = False
    return array


def _frozen(numbers: Sequence[int]) -> Ints:
    array = np.array(numbers, dtype=np.int64)
    array.flags.writeable = False
    return array


def recall(judged: JudgedRanking, k: int) -> Floats:
    """The share of the relevant things found within the top k."""
    return _hits(judged, k).sum(axis=1) / judged.relevant


def hit(judged: JudgedRanking, k: int) -> Floats:
    """1 if anything relevant is within the top k."""
    return (_hits(judged, k).sum(axis=1) > 0).astype(np.float64)


def complete(judged: JudgedRanking, k: int) -> Floats:
    """COMP@K: 1 if all relevant things are within the top k; a plan that needs two tools fails with one."""
    return (_hits(judged, k).sum(axis=1) == judged.relevant).astype(np.float64)


def ndcg(judged: JudgedRanking, k: int, *, exponential: bool = False) -> Floats:
    """Discounted cumulative gain over that of the best ranking, both cut at k.

    The gain is the grade, as in trec_eval, or 2^grade - 1 with `exponential`, as LambdaMART optimises.
    """
    return _dcg(judged.gains, k, exponential) / _dcg(judged.ideal, k, exponential)


def reciprocal_rank(judged: JudgedRanking, k: int | None = None) -> Floats:
    """One over the rank of the first relevant thing; 0 if there is none within the top k."""
    hits = _hits(judged, k)
    return (hits / _ranks(hits)).max(axis=1, initial=0.0)


def average_precision(judged: JudgedRanking, k: int | None = None) -> Floats:
    """The precision at each relevant thing's rank, averaged over all relevant things, missed ones as 0."""
    hits = _hits(judged, k)
    precision = hits.cumsum(axis=1) / _ranks(hits)
    return (precision * hits).sum(axis=1) / judged.relevant


def mmrr(judged: JudgedRanking, k: int) -> Floats:
    """Multiple Mean Reciprocal Rank (Kachuee et al., section 2.2): the best average rank over the actual one.

    A relevant thing missing from the top k counts at rank k + 1, so a ranking that finds nothing is low but
    not 0. The paper prints n/2 as the best average rank of n things and says the value is one for perfect
    retrieval; (n + 1)/2, the average of 1..n, is what makes it so, and is used here. The paper assumes n ≤ k;
    beyond that the best case misses things too, and counting them alike keeps perfect retrieval at one.
    """
    hits = _hits(judged, k)
    actual = (hits * _ranks(hits)).sum(axis=1) + (k + 1) * (judged.relevant - hits.sum(axis=1))
    reachable = np.minimum(judged.relevant, k)
    best = reachable * (reachable + 1) / 2 + (k + 1) * (judged.relevant - reachable)
    return best / actual


def _hits(judged: JudgedRanking, k: int | None) -> NDArray[np.bool_]:
    return _top(judged.gains, k) > 0


def _top(grades: Ints, k: int | None) -> Ints:
    if k is not None and k < 1:
        raise ValueError(f"k must be at least 1, not {k!r}")
    return grades[:, :k]


def _ranks(columns: NDArray[np.generic]) -> Ints:
    return np.arange(1, columns.shape[1] + 1, dtype=np.int64)


def _dcg(grades: Ints, k: int, exponential: bool) -> Floats:
    top = _top(grades, k).astype(np.float64)
    gain = np.exp2(top) - 1 if exponential else top
    return (gain / np.log2(_ranks(top) + 1)).sum(axis=1)


def _ndcg_exponential(judged: JudgedRanking, k: int) -> Floats:
    return ndcg(judged, k, exponential=True)


_AT_K: Mapping[str, tuple[str, Callable[[JudgedRanking, int], Floats]]] = {
    "recall": ("Recall", recall),
    "ndcg": ("NDCG", ndcg),
    "ndcg_exp": ("NDCG-exp", _ndcg_exponential),
    "hit": ("Hit", hit),
    "comp": ("COMP", complete),
    "mmrr": ("MMRR", mmrr),
}
_ANY_DEPTH: Mapping[str, tuple[str, Callable[[JudgedRanking, int | None], Floats]]] = {
    "mrr": ("MRR", reciprocal_rank),
    "map": ("MAP", average_precision),
}
METRICS = (*(f"{measure}@K" for measure in _AT_K), *_ANY_DEPTH, *(f"{measure}@K" for measure in _ANY_DEPTH))
"""Every name `metric` understands, K standing for a whole number from 1."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure with its cut-off; made by `metric`. A plain value, so it compares, hashes and pickles."""

    measure: str
    k: int | None

    @property
    def name(self) -> str:
        """As `metric` reads it, such as `recall@3`."""
        return self.measure + self._cut

    @property
    def label(self) -> str:
        """As papers print it, such as `Recall@3`."""
        label, _ = _AT_K.get(self.measure) or _ANY_DEPTH[self.measure]
        return label + self._cut

    def __call__(self, judged: JudgedRanking) -> Floats:
        """One value per query, in the order of `judged.queries`."""
        if self.k is not None and self.measure in _AT_K:
            return _AT_K[self.measure][1](judged, self.k)
        return _ANY_DEPTH[self.measure][1](judged, self.k)

    @property
    def _cut(self) -> str:
        return "" if self.k is None else f"@{self.k}"


def metric(name: str) -> Metric:
    """Read a metric's name: `recall@3`, `ndcg@10`, `mrr`, `map@11` and so on (`METRICS` lists them)."""
    match = re.fullmatch(r"([a-z_]+)(?:@([1-9][0-9]*))?", name)
    measure, cut = match.groups() if match else ("", None)
    if measure not in _ANY_DEPTH and not (measure in _AT_K and cut):
        raise ValueError(f"unknown metric {name!r}; there are: {', '.join(METRICS)}, with a number for K")
    return Metric(measure, int(cut) if cut else None)
