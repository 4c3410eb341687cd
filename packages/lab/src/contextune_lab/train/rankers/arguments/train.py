"""Train the argument scorer of the pointer planner: ranking of candidates, and confidence.

Training data: the personas' own requests with retrieved, gold and no context; the additional training
requests, a quarter of which say all that is needed; pairs; and generated requests about times. Statistics of
an argument (where its values usually come from) are always counted on other folds than the request's,
otherwise they would leak its label.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.datasets import Pair
from contextune.plan.pointer.scoring.feature_names import NAMES
from contextune.plan.pointer.scoring.features import forget_request
from contextune.plan.pointer.scoring.priors import ArgumentPriors, ArgumentStatistics, CommonWords
from contextune.plan.pointer.scoring.scorer import CONFIDENCE_FEATURES, ArgumentScorer, confidence_features
from contextune.plan.pointer.values.candidates import forget_candidates
from contextune.rank import CandidateGroup, LogisticRegression, Ranker, RankerSettings
from contextune.search import tokenize
from contextune.types import Progress, Tool
from contextune_lab.train.rankers.arguments.examples import (
    ORACLE,
    RETRIEVED,
    ArgumentExample,
    PlannedRequest,
    argument_examples,
)
from contextune_lab.train.rankers.arguments.pairs import pair_examples

Floats = NDArray[np.float64]
SETTINGS = RankerSettings(
    rounds=200,
    seeds=1,
    rate=0.08,
    leaves=31,
    smallest_leaf=15,
    feature_share=0.5,
    row_share=0.8,
    truncation=4,
)
_MAX_NEGATIVES = 40
"""Maximum number of wrong candidates per argument; there may be hundreds of similar ones."""
_HARD_NEGATIVES = 16
"""As many of them as are most like the request; the others are random."""
_PAIR_STEP = 3
"""Use every n-th pair: more would outweigh the personas, whose items are complete."""
_CONFIDENCE_FOLDS = 2
"""Folds on which the confidence of the shipped scorer is calibrated: thousands of choices."""
_UNKNOWN_SHARE = 0.2
"""Share of arguments trained without statistics, like those of new tools."""
_RUN = NAMES.index("said run weight")
_PRIORS = [NAMES.index(name) for name in ("prior", "prior by name", "prior rank", "given")]


@dataclass(frozen=True, eq=False)
class ArgumentTrainingData:
    """All training examples; `counted` marks those that the statistics count."""

    examples: Sequence[ArgumentExample]
    counted: Sequence[bool]
    unknown: Sequence[bool]
    """Whether the example is trained on without statistics, as that of a new tool."""
    common: CommonWords

    @classmethod
    def build(
        cls,
        requests: Sequence[PlannedRequest],
        generated: Sequence[ArgumentExample],
        pairs: Sequence[Pair],
        tools: Mapping[str, Tool],
        *,
        progress: Progress | None = None,
    ) -> "ArgumentTrainingData":
        """Collect examples from requests, generated requests and pairs, and compute their features."""
        examples: list[ArgumentExample] = []
        counted: list[bool] = []
        for number, request in enumerate(requests, 1):
            for context in request.contexts:
                filled = list(argument_examples(request, tools, context))
                examples += filled
                counted += [context == (RETRIEVED if request.additional else ORACLE)] * len(filled)
            if progress:
                progress(number, 2 * len(requests))
        extra = [*generated, *pair_examples(pairs[::_PAIR_STEP], tools)]
        examples, counted = [*examples, *extra], [*counted, *[False] * len(extra)]
        priors = ArgumentPriors.from_examples(
            example.filled for example, counts in zip(examples, counted, strict=True) if counts
        )
        common = common_words(pairs)
        draw = np.random.default_rng(0)
        unknown = [bool(draw.random() < _UNKNOWN_SHARE) for _ in examples]
        for number, example in enumerate(examples):
            # origins that no fold has seen are no candidates at run time, so they must not shape features
            kept = example if unknown[number] else example.restricted(priors)
            examples[number] = kept.with_rows(common)
            following = examples[number + 1] if number + 1 < len(examples) else None
            if following is None or following.planning_input is not example.planning_input:
                forget_request(example.planning_input)
                forget_candidates(example.planning_input)
            if progress:
                progress(len(requests) + number * len(requests) // len(examples), 2 * len(requests))
        return cls(examples, counted, unknown, common)

    def statistics(self, *excluded_folds: int) -> ArgumentStatistics:
        """Statistics over all folds but some."""
        kept = zip(self.examples, self.counted, strict=True)
        return ArgumentStatistics(
            ArgumentPriors.from_examples(
                example.filled for example, counts in kept if counts and example.fold not in excluded_folds
            ),
            self.common,
        )


def common_words(pairs: Sequence[Pair]) -> CommonWords:
    """Words that occur in many texts of the pairs."""
    texts = [text for pair in pairs for text in (pair.query, *(item.text for item in pair.items))]
    return CommonWords.from_texts(tokenize(text) for text in texts)


def fit(data: ArgumentTrainingData, *excluded_folds: int, progress: Progress | None = None) -> Ranker:
    """Fit a ranker of candidates without the excluded folds."""
    folds = sorted({example.fold for example in data.examples} - set(excluded_folds))
    draw = np.random.default_rng(0)
    groups: list[CandidateGroup] = []
    for fold in folds:
        statistics = data.statistics(*excluded_folds, fold)
        rows = zip(data.examples, data.unknown, strict=True)
        all_groups = [
            _group(example, statistics, draw, unknown=unknown)
            for example, unknown in rows
            if example.fold == fold
        ]
        # groups with one grade only teach nothing
        groups += [group for group in all_groups if group.grades.any() and not group.grades.all()]
    return Ranker.fit(groups, NAMES, SETTINGS, progress=progress)


def _group(
    example: ArgumentExample, statistics: ArgumentStatistics, draw: np.random.Generator, *, unknown: bool
) -> CandidateGroup:
    """An argument as seen at run time: of a known tool, with restricted candidates, or of a new tool."""
    example = example if unknown else example.restricted(statistics.priors)
    matrix = example.matrix(statistics)
    wrong = np.flatnonzero(example.grades == 0)
    if len(wrong) > _MAX_NEGATIVES:
        wrong = wrong[np.argsort(-np.nan_to_num(matrix[wrong, _RUN]), kind="stable")]
        others = draw.choice(wrong[_HARD_NEGATIVES:], _MAX_NEGATIVES - _HARD_NEGATIVES, replace=False)
        wrong = np.concatenate([wrong[:_HARD_NEGATIVES], others])
    kept = np.sort(np.concatenate([np.flatnonzero(example.grades), wrong]))
    matrix = matrix[kept]
    if unknown:
        matrix[:, _PRIORS] = np.nan
    return CandidateGroup(matrix, example.grades[kept])


@dataclass(frozen=True, eq=False)
class ArgumentFold:
    """Ranker and statistics without one fold, for requests of that fold."""

    ranker: Ranker
    statistics: ArgumentStatistics


def fit_by_fold(
    data: ArgumentTrainingData, *, most: int | None = None, progress: Progress | None = None
) -> dict[int, ArgumentFold]:
    """A ranker and statistics per fold, fitted without it; `most` limits the number of folds."""
    folds = sorted({example.fold for example in data.examples if example.fold >= 0})[:most]
    models: dict[int, ArgumentFold] = {}
    for number, fold in enumerate(folds, 1):
        models[fold] = ArgumentFold(fit(data, fold), data.statistics(fold))
        if progress:
            progress(number, len(folds))
    return models


def fit_confidence(
    data: ArgumentTrainingData, models: Mapping[int, ArgumentFold], *excluded_folds: int
) -> LogisticRegression:
    """Calibrate the probability that a choice is right, on out-of-fold choices."""
    rows: list[Floats] = []
    correct: list[bool] = []
    for example, unknown in zip(data.examples, data.unknown, strict=True):
        if (
            unknown
            or example.fold not in models
            or example.fold in excluded_folds
            or example.name.rpartition("/")[2].startswith("time")
        ):
            continue  # calibrate on real requests only
        restricted = example.restricted(models[example.fold].statistics.priors)
        matrix = restricted.matrix(models[example.fold].statistics)
        scores = models[example.fold].ranker.score(matrix)
        best = int(np.argmax(scores))
        rows.append(confidence_features(restricted.candidates, matrix, scores, best))
        correct.append(bool(restricted.grades[best]))
    model = LogisticRegression.fit(np.stack(rows), np.array(correct), CONFIDENCE_FEATURES)
    # the fit balances both classes: restore the base rate, so that 0.1 means one in ten
    accuracy = float(np.mean(correct))
    return replace(model, constant=model.constant + math.log(accuracy / (1 - accuracy)))


def train(
    data: ArgumentTrainingData, about: Mapping[str, Any], *, progress: Progress | None = None
) -> ArgumentScorer:
    """Train the scorer that ships, on all examples."""
    models = fit_by_fold(data, most=_CONFIDENCE_FOLDS, progress=progress)
    return ArgumentScorer(fit(data), data.statistics(), fit_confidence(data, models), about)
