"""Train the context ranker: LambdaMART on all signals, a second pass over links, and RRF weights.

The second pass and the fusion train on out-of-fold scores of the first pass: in-sample scores would be too
confident.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from contextune.context.ranker import ContextRanker, fuse_scores, fusion_lists
from contextune.context.signals import FAMILY_BY_FEATURE, FEATURE_NAMES, compute_features, recompute_links
from contextune.context.signals.request_classifier import RequestClassifier
from contextune.errors import RankerError
from contextune.rank import CandidateGroup, FusionWeights, Ranker, RankerSettings
from contextune.types import Progress
from contextune_lab.train.rankers.context.examples import ContextExample

Floats = NDArray[np.float64]

GRID: Mapping[str, Sequence[float]] = {
    "ranker": (1.0,),
    "store": (0.0, 0.1, 0.2),
    "meaning": (0.0, 0.05, 0.1),
    "said": (0.0, 0.05, 0.1, 0.2),
    "words": (0.0, 0.05),
}
KS = (2.0, 10.0)
_MAX_FUSED = 64
"""Requests with more candidates are left out of the search for weights, which holds all in one table."""
FIRST_PASS = RankerSettings(rounds=120, rate=0.1, seeds=1, leaves=16)
"""The first pass only needs rough scores, so few fast rounds suffice."""
SECOND_PASS = RankerSettings(rounds=400, rate=0.05, seeds=1, leaves=20, smallest_leaf=60)


@dataclass(frozen=True, eq=False)
class FeaturedExamples:
    """Examples with their feature matrices, computed once for all rankers."""

    examples: Sequence[ContextExample]
    matrices: Sequence[NDArray[np.float32]]

    @classmethod
    def build(
        cls, examples: Sequence[ContextExample], *, progress: Progress | None = None
    ) -> "FeaturedExamples":
        """Compute the features of all examples."""
        matrices: list[NDArray[np.float32]] = []
        for number, example in enumerate(examples, 1):
            matrices.append(compute_features(example.scene))
            if progress:
                progress(number, len(examples))
        return cls(examples, matrices)

    def select(self, predicate: Callable[[ContextExample], bool]) -> "FeaturedExamples":
        """The examples for which `predicate` holds."""
        kept = [n for n, example in enumerate(self.examples) if predicate(example)]
        return FeaturedExamples([self.examples[n] for n in kept], [self.matrices[n] for n in kept])

    def with_links(self, first_scores: Sequence[Floats]) -> "FeaturedExamples":
        """The input of the second pass: link features recomputed from the scores of the first."""
        matrices = [
            recompute_links(example.scene, matrix, first_score)
            for example, matrix, first_score in zip(self.examples, self.matrices, first_scores, strict=True)
        ]
        return FeaturedExamples(self.examples, matrices)

    def without(self, family: str) -> "FeaturedExamples":
        """The same with one feature family set to NaN."""
        columns = [n for n, name in enumerate(FEATURE_NAMES) if FAMILY_BY_FEATURE[name] == family]
        matrices = [matrix.copy() for matrix in self.matrices]
        for matrix in matrices:
            matrix[:, columns] = np.nan
        return FeaturedExamples(self.examples, matrices)

    @property
    def folds(self) -> list[int]:
        """The folds of the examples, at least two: one to train on and one to score."""
        folds = sorted({example.fold for example in self.examples})
        if len(folds) < 2:
            raise RankerError(
                "all examples are in one fold: cross-validation needs personas of at least two folds"
            )
        return folds

    @property
    def groups(self) -> list[CandidateGroup]:
        """Training groups; requests whose candidates all have the same relevance are dropped."""
        return [
            CandidateGroup(matrix, example.grades)
            for example, matrix in zip(self.examples, self.matrices, strict=True)
            if example.grades.any() and not example.grades.all()
        ]


def fit(
    data: FeaturedExamples, settings: RankerSettings | None = None, *, progress: Progress | None = None
) -> Ranker:
    """Fit a ranker on these examples."""
    return Ranker.fit(data.groups, FEATURE_NAMES, settings or FIRST_PASS, progress=progress)


def choose_fusion(data: FeaturedExamples, scores: Sequence[Floats]) -> FusionWeights:
    """The fusion weights that are best on out-of-fold scores, of requests over few items."""
    ranked_lists = [
        (fusion_lists(example.scene, score), example.grades)
        for example, score in zip(data.examples, scores, strict=True)
        if example.grades.any() and len(score) <= _MAX_FUSED
    ]
    return FusionWeights.choose(ranked_lists, GRID, KS)


@dataclass(frozen=True, eq=False)
class TrainedPasses:
    """Both passes and the fusion weights, trained on the same examples."""

    first: Ranker
    second: Ranker
    fusion: FusionWeights

    def rank(self, example: ContextExample, matrix: NDArray[np.float32]) -> "HeldOutRanking":
        """Rank an example that was not trained on."""
        first_score = self.first.score(matrix)
        scores = self.second.score(recompute_links(example.scene, matrix, first_score))
        return HeldOutRanking(
            example, first_score, scores, fuse_scores(self.fusion, example.scene, matrix, scores)
        )


def train(
    data: FeaturedExamples,
    classifier: RequestClassifier,
    about: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> ContextRanker:
    """Train the ranker that ships, on all examples."""
    reports = _divide(progress, len(data.folds) + 2)
    first = _first_by_fold(data, reports)
    out_of_fold = [
        first[example.fold].score(matrix)
        for example, matrix in zip(data.examples, data.matrices, strict=True)
    ]
    passes = _finish(data, fit(data, progress=next(reports)), out_of_fold, next(reports))
    return ContextRanker(classifier, passes.first, passes.second, passes.fusion, about)


@dataclass(frozen=True, eq=False)
class HeldOutRanking:
    """One request's scores by out-of-fold models: first pass, second pass, fused."""

    example: ContextExample
    first_score: Floats
    scores: Floats
    fused: Floats

    def ranked(self, by: Literal["first", "second", "fused"] = "fused") -> list[str]:
        """Item ids, best first; ties by the second pass."""
        scores = {"first": self.first_score, "second": self.scores, "fused": self.fused}[by]
        ids = self.example.ids
        return [ids[n] for n in np.lexsort((-self.scores, -scores))]


def fit_by_fold(data: FeaturedExamples, *, progress: Progress | None = None) -> Mapping[int, TrainedPasses]:
    """For each fold, both passes trained without it at every stage.

    For fold f, the second pass learns from links by first-pass scores of each other fold g. These scores come
    from a model that has seen neither f nor g: one that has seen f would carry labels of f into the second
    pass that ranks f.
    """
    folds = data.folds
    pairs = [frozenset(pair) for pair in combinations(folds, 2)] if len(folds) > 2 else []
    reports = _divide(progress, 2 * len(folds) + len(pairs))
    first = _first_by_fold(data, reports)
    inner = {pair: fit(_without(data, pair), progress=next(reports)) for pair in pairs}
    passes: dict[int, TrainedPasses] = {}
    for fold in folds:
        others = _without(data, {fold})
        # of two folds none is left for an inner model: the second pass then reads scores in sample
        scores = [
            inner.get(frozenset((fold, example.fold)), first[fold]).score(matrix)
            for example, matrix in zip(others.examples, others.matrices, strict=True)
        ]
        passes[fold] = _finish(others, first[fold], scores, next(reports))
    return passes


def _first_by_fold(data: FeaturedExamples, reports: Iterator[Progress | None]) -> dict[int, Ranker]:
    return {fold: fit(_without(data, {fold}), progress=next(reports)) for fold in data.folds}


def _finish(
    data: FeaturedExamples, first: Ranker, first_scores: Sequence[Floats], report: Progress | None
) -> TrainedPasses:
    """The second pass and the fusion, from scores of the first by models that have not seen the example."""
    second = fit(data.with_links(first_scores), SECOND_PASS, progress=report)
    return TrainedPasses(first, second, choose_fusion(data, first_scores))


def _without(data: FeaturedExamples, folds: Collection[int]) -> FeaturedExamples:
    return data.select(lambda example: example.fold not in folds)


def rank_held_out(data: FeaturedExamples, trained: Mapping[int, TrainedPasses]) -> list[HeldOutRanking]:
    """Rank every measured example with the passes of its fold, which have not seen it."""
    return [
        trained[fold].rank(example, matrix)
        for fold in sorted(trained)
        for example, matrix in zip(data.examples, data.matrices, strict=True)
        if example.fold == fold and example.measured
    ]


def cross_validate(data: FeaturedExamples, *, progress: Progress | None = None) -> list[HeldOutRanking]:
    """Rank every measured example with models trained on the other folds."""
    return rank_held_out(data, fit_by_fold(data, progress=progress))


def _divide(progress: Progress | None, parts: int) -> Iterator[Progress | None]:
    """A report for each of `parts` steps, which together make up `progress`."""
    for number in range(parts):
        yield partial(_report_part, progress, number, parts) if progress else None


def _report_part(progress: Progress, number: int, parts: int, done: int, total: int) -> None:
    progress(number * total + done, parts * total)
