"""Train the context ranker: LambdaMART on all signals, a second pass over links, and RRF weights.

The second pass trains on out-of-fold scores of the first pass, and the fusion on out-of-fold scores of the
second: in-sample scores would be too confident.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from contextune.context.ranker import ContextRanker, fusion_lists
from contextune.context.signals import FAMILY_BY_FEATURE, FEATURE_NAMES, compute_features, recompute_links
from contextune.context.signals.request_classifier import RequestClassifier
from contextune.errors import RankerError
from contextune.lab.train.rankers.context_examples import ContextExample
from contextune.rank import CandidateGroup, FusionWeights, Ranker, RankerSettings
from contextune.types import Progress

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


def _check_folds(folds: Sequence[int]) -> None:
    if len(folds) < 2:  # one to train on and one to score
        raise RankerError(
            "all examples are in one fold: cross-validation needs personas of at least two folds"
        )


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
            example, first_score, scores, self.fusion.fuse(fusion_lists(example.scene, scores))
        )


def train(
    data: FeaturedExamples,
    classifier: RequestClassifier,
    about: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> ContextRanker:
    """Train the ranker that ships, on all examples."""
    crossed = CrossFit.fit(data, progress=_sub_progress(progress, 0, 2))
    passes = crossed.final(data, progress=_sub_progress(progress, 1, 2))
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


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Passes for every fold, trained on the other folds, and what the passes that ship are trained on."""

    by_fold: Mapping[int, TrainedPasses]
    linked: FeaturedExamples
    """The input of the second pass: links by out-of-fold scores of the first."""
    second_scores: Sequence[Floats]
    """Out-of-fold scores of the second pass."""

    @classmethod
    def fit(cls, data: FeaturedExamples, *, progress: Progress | None = None) -> "CrossFit":
        """Train each pass once per fold; each stage reads scores of models that have not seen the fold."""
        folds = sorted({example.fold for example in data.examples})
        _check_folds(folds)
        steps = 2 * len(folds)
        first: dict[int, Ranker] = {}
        second: dict[int, Ranker] = {}
        for number, fold in enumerate(folds):
            first[fold] = fit(_others(data, fold), progress=_sub_progress(progress, number, steps))
        linked = data.with_links(_score_by_fold(data, first))
        for number, fold in enumerate(folds, len(folds)):
            report = _sub_progress(progress, number, steps)
            second[fold] = fit(_others(linked, fold), SECOND_PASS, progress=report)
        scores = _score_by_fold(linked, second)
        passes: dict[int, TrainedPasses] = {}
        for fold in folds:
            kept = [n for n, example in enumerate(data.examples) if example.fold != fold]
            fusion = choose_fusion(_others(linked, fold), [scores[n] for n in kept])
            passes[fold] = TrainedPasses(first[fold], second[fold], fusion)
        return cls(passes, linked, scores)

    def final(self, data: FeaturedExamples, *, progress: Progress | None = None) -> TrainedPasses:
        """The passes that ship, trained on all folds."""
        first = fit(data, progress=_sub_progress(progress, 0, 2))
        second = fit(self.linked, SECOND_PASS, progress=_sub_progress(progress, 1, 2))
        return TrainedPasses(first, second, choose_fusion(self.linked, self.second_scores))


def _others(data: FeaturedExamples, fold: int) -> FeaturedExamples:
    return data.select(lambda example: example.fold != fold)


def _score_by_fold(data: FeaturedExamples, rankers: Mapping[int, Ranker]) -> list[Floats]:
    return [
        rankers[example.fold].score(matrix)
        for example, matrix in zip(data.examples, data.matrices, strict=True)
    ]


def fit_by_fold(data: FeaturedExamples, *, progress: Progress | None = None) -> Mapping[int, TrainedPasses]:
    """For each fold, the passes trained on the other folds."""
    return CrossFit.fit(data, progress=progress).by_fold


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


def _sub_progress(progress: Progress | None, number: int, parts: int) -> Progress | None:
    if progress is None:
        return None
    report = progress
    return lambda done, total: report(number * total + done, parts * total)
