"""Trains the ranker of context: LambdaMART on all signals, a second pass, and the fusion after it.

The second pass learns from scores the first gave to requests it had not learnt from, fold by
fold, and the fusion from such scores of the second: on what it has learnt, a ranker is surer
than it will be in use, and whatever builds on it would trust it too much.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from contextune.context.ranker import ContextRanker, lists
from contextune.context.signals import FAMILY_OF, NAMES, features, recompute_links
from contextune.context.signals.request_classifier import RequestClassifier
from contextune.errors import RankerError
from contextune.lab.train.rankers.context_examples import ContextExample
from contextune.rank import CandidateGroup, FusionWeights, Ranker, RankerSettings
from contextune.types import Progress

Floats = NDArray[np.float64]

GRID: Mapping[str, Sequence[float]] = {
    "ranker": (1.0,),
    "store": (0.0, 0.1, 0.2, 0.4),
    "meaning": (0.0, 0.05, 0.1, 0.2),
    "said": (0.0, 0.05, 0.1, 0.2),
    "words": (0.0, 0.05, 0.1),
}
KS = (2.0, 10.0, 60.0)
SETTINGS = RankerSettings(rounds=140, rate=0.08, seeds=1)
"""The first pass only says what is strong, so that few and quick steps will do."""
SECOND = RankerSettings(rounds=280, seeds=1)


@dataclass(frozen=True, eq=False)
class FeaturedExamples:
    """Examples with their features, worked out once for however many rankers."""

    examples: Sequence[ContextExample]
    matrices: Sequence[NDArray[np.float32]]

    @classmethod
    def of(
        cls, examples: Sequence[ContextExample], *, progress: Progress | None = None
    ) -> "FeaturedExamples":
        """Work out the features of all."""
        found: list[NDArray[np.float32]] = []
        for number, example in enumerate(examples, 1):
            found.append(features(example.scene))
            if progress:
                progress(number, len(examples))
        return cls(examples, found)

    def part(self, chosen: Callable[[ContextExample], bool]) -> "FeaturedExamples":
        """Those that are chosen."""
        kept = [n for n, example in enumerate(self.examples) if chosen(example)]
        return FeaturedExamples([self.examples[n] for n in kept], [self.matrices[n] for n in kept])

    def linked(self, strengths: Sequence[Floats]) -> "FeaturedExamples":
        """The same for a second pass, links being worked out anew from the scores of the first."""
        again = [
            recompute_links(example.scene, matrix, strength)
            for example, matrix, strength in zip(self.examples, self.matrices, strengths, strict=True)
        ]
        return FeaturedExamples(self.examples, again)

    def without(self, family: str) -> "FeaturedExamples":
        """The same with a family of features blanked out."""
        gone = [n for n, name in enumerate(NAMES) if FAMILY_OF[name] == family]
        blank = [matrix.copy() for matrix in self.matrices]
        for matrix in blank:
            matrix[:, gone] = np.nan
        return FeaturedExamples(self.examples, blank)

    @property
    def groups(self) -> list[CandidateGroup]:
        """As a ranker learns from them; requests with nothing right, or nothing wrong, teach nothing."""
        return [
            CandidateGroup(matrix, example.grades)
            for example, matrix in zip(self.examples, self.matrices, strict=True)
            if example.grades.any() and not example.grades.all()
        ]


def fit(
    data: FeaturedExamples, settings: RankerSettings | None = None, *, progress: Progress | None = None
) -> Ranker:
    """A ranker of these examples."""
    return Ranker.fit(data.groups, NAMES, settings or SETTINGS, progress=progress)


def unseen_scores(
    data: FeaturedExamples, settings: RankerSettings | None = None, *, progress: Progress | None = None
) -> list[Floats]:
    """Scores for every example by a ranker that has not seen its fold."""
    folds = sorted({example.fold for example in data.examples})
    if len(folds) < 2:  # one to learn from and one to be judged
        raise RankerError("examples of one fold only leave nothing to judge by: give more personas")
    found: list[Floats] = [np.empty(0)] * len(data.examples)
    for number, fold in enumerate(folds):
        told = _told(progress, number, len(folds))
        rest = data.part(lambda example, fold=fold: example.fold != fold)
        ranker = fit(rest, replace(settings or SETTINGS, seeds=1), progress=told)
        for n, example in enumerate(data.examples):
            if example.fold == fold:
                found[n] = ranker.score(data.matrices[n])
    return found


def choose_fusion(data: FeaturedExamples, scores: Sequence[Floats]) -> FusionWeights:
    """The weights that do best on scores for unseen requests."""
    judged = [
        (lists(example.scene, score), example.grades)
        for example, score in zip(data.examples, scores, strict=True)
        if example.grades.any()
    ]
    return FusionWeights.choose(judged, GRID, KS)


@dataclass(frozen=True, eq=False)
class TrainedPasses:
    """Both passes and the fusion, learnt from the same examples."""

    first: Ranker
    second: Ranker
    fusion: FusionWeights

    @classmethod
    def learnt(cls, data: FeaturedExamples, *, progress: Progress | None = None) -> "TrainedPasses":
        """Each on what the one before it says of requests it has not seen."""
        steps = 4
        linked = data.linked(unseen_scores(data, progress=_told(progress, 0, steps)))
        fusion = choose_fusion(linked, unseen_scores(linked, SECOND, progress=_told(progress, 1, steps)))
        first = fit(data, progress=_told(progress, 2, steps))
        return cls(first, fit(linked, SECOND, progress=_told(progress, 3, steps)), fusion)

    def rank(self, example: ContextExample, matrix: NDArray[np.float32]) -> "HeldOutRanking":
        """One example that was not learnt from."""
        strength = self.first.score(matrix)
        scores = self.second.score(recompute_links(example.scene, matrix, strength))
        return HeldOutRanking(example, strength, scores, self.fusion.fuse(lists(example.scene, scores)))


def train(
    data: FeaturedExamples,
    reader: RequestClassifier,
    about: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> ContextRanker:
    """The ranker that ships, from all examples."""
    made = TrainedPasses.learnt(data, progress=progress)
    return ContextRanker(reader, made.first, made.second, made.fusion, about)


@dataclass(frozen=True, eq=False)
class HeldOutRanking:
    """How one request was ranked by what had not seen its fold: by the first pass, the second, and fused."""

    example: ContextExample
    strength: Floats
    scores: Floats
    fused: Floats

    def ranked(self, by: Literal["first", "second", "fused"] = "fused") -> list[str]:
        """Items, best first."""
        scores = {"first": self.strength, "second": self.scores, "fused": self.fused}[by]
        ids = self.example.ids
        return [ids[n] for n in np.lexsort((-self.scores, -scores))]


def cross_validate(data: FeaturedExamples, *, progress: Progress | None = None) -> list[HeldOutRanking]:
    """Every example that may be measured on, ranked by what was made from the other folds alone."""
    folds = sorted({example.fold for example in data.examples if example.measured})
    found: list[HeldOutRanking] = []
    for number, fold in enumerate(folds):
        rest = data.part(lambda example, fold=fold: example.fold != fold)
        made = TrainedPasses.learnt(rest, progress=_told(progress, number, len(folds)))
        found += [
            made.rank(example, matrix)
            for example, matrix in zip(data.examples, data.matrices, strict=True)
            if example.fold == fold and example.measured
        ]
    return found


def _told(progress: Progress | None, number: int, parts: int) -> Progress | None:
    if progress is None:
        return None
    tell = progress
    return lambda done, total: tell(number * total + done, parts * total)
