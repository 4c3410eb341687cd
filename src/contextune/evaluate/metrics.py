"""Retrieval metrics (recall, nDCG, MRR, MAP, MMRR), one value per query.

Metrics depend only on the grades at each rank, so a run and its judgements are converted to arrays once
(`JudgedRanking`), and every metric is a few array operations.
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
"""Query id → document id → grade; documents with a grade above 0 are relevant."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRanking:
    """The grades of a run's rankings.

    The queries are those of the judgements: a query that the run lacks counts as an empty ranking, so that
    leaving out queries does not raise the mean.
    """

    queries: tuple[str, ...]
    gains: Ints
    """Grade at each rank, queries × depth, padded with 0."""
    ideal: Ints
    """Grades of the relevant documents, best first, padded with 0."""
    relevant: Ints
    """Number of relevant documents of each query; at least one."""
    lengths: Ints
    """Length of each query's ranking."""

    @classmethod
    def from_run(cls, run: Run, qrels: Qrels) -> Self:
        """Look up the grades of a run; its queries without judgements are ignored."""
        if not qrels:
            raise InvalidDataError("qrels is empty: there is nothing to measure")
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
    for document, grade in grades.items():
        if grade < 0:
            raise InvalidDataError(f"query {query!r}: {document!r} has grade {grade!r}; grades start at 0")
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    if not ideal:
        raise InvalidDataError(f"query {query!r} has no relevant document; leave it out of qrels")
    return ideal


def _gains(query: str, ranking: Sequence[str], grades: Mapping[str, int]) -> list[int]:
    if len(set(ranking)) != len(ranking):
        duplicate = next(document for rank, document in enumerate(ranking) if document in ranking[:rank])
        raise InvalidDataError(
            f"query {query!r}: {duplicate!r} is ranked more than once; keep its best rank only"
        )
    return [grades.get(document, 0) for document in ranking]


def _padded(rows: Sequence[Sequence[int]]) -> Ints:
    array = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for number, row in enumerate(rows):
        array[number, : len(row)] = row
    array.flags.writeable = False
    return array


def _frozen(numbers: Sequence[int]) -> Ints:
    array = np.array(numbers, dtype=np.int64)
    array.flags.writeable = False
    return array


def recall(judged: JudgedRanking, k: int) -> Floats:
    """The share of the relevant documents in the top k."""
    return _hits(judged, k).sum(axis=1) / judged.relevant


def hit(judged: JudgedRanking, k: int) -> Floats:
    """1 if any relevant document is in the top k."""
    return (_hits(judged, k).sum(axis=1) > 0).astype(np.float64)


def complete(judged: JudgedRanking, k: int) -> Floats:
    """COMP@K: 1 if all relevant documents are in the top k; a plan that needs two tools fails with one."""
    return (_hits(judged, k).sum(axis=1) == judged.relevant).astype(np.float64)


def ndcg(judged: JudgedRanking, k: int, *, exponential: bool = False) -> Floats:
    """Discounted cumulative gain divided by that of the ideal ranking, both cut at k.

    The gain is the grade, as in trec_eval, or 2^grade - 1 with `exponential`, as LambdaMART optimises.
    """
    return _dcg(judged.gains, k, exponential) / _dcg(judged.ideal, k, exponential)


def reciprocal_rank(judged: JudgedRanking, k: int | None = None) -> Floats:
    """One over the rank of the first relevant document; 0 if there is none in the top k."""
    hits = _hits(judged, k)
    return (hits / _ranks(hits)).max(axis=1, initial=0.0)


def average_precision(judged: JudgedRanking, k: int | None = None) -> Floats:
    """The mean precision at the ranks of all relevant documents; missing ones count 0."""
    hits = _hits(judged, k)
    precision = hits.cumsum(axis=1) / _ranks(hits)
    return (precision * hits).sum(axis=1) / judged.relevant


def mmrr(judged: JudgedRanking, k: int) -> Floats:
    """Multiple Mean Reciprocal Rank (Kachuee et al., section 2.2): the best average rank over the actual one.

    A relevant document outside the top k counts at rank k + 1, so the value is low but never 0. The paper
    prints n/2 as the best average rank of n documents and says that perfect retrieval has the value 1; that
    needs (n + 1)/2, the mean of 1..n, which is used here. The paper assumes n ≤ k; for larger n, the best
    case misses documents too, and they count the same way, so that perfect retrieval stays at 1.
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
"""Every name `parse_metric` understands, K standing for a whole number from 1."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure with its cut-off, made by `parse_metric`; comparable and hashable."""

    measure: str
    k: int | None

    @property
    def name(self) -> str:
        """As `parse_metric` reads it, such as `recall@3`."""
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


def parse_metric(name: str) -> Metric:
    """Parse a metric's name: `recall@3`, `ndcg@10`, `mrr`, `map@11` and so on (`METRICS` lists them)."""
    match = re.fullmatch(r"([a-z_]+)(?:@([1-9][0-9]*))?", name)
    measure, cut = match.groups() if match else ("", None)
    if measure not in _ANY_DEPTH and not (measure in _AT_K and cut):
        raise ValueError(f"unknown metric {name!r}; use one of {', '.join(METRICS)}, with a number for K")
    return Metric(measure, int(cut) if cut else None)
