"""Train the argument scorer of the pointer planner: ranking of candidates, and confidence.

Training data: the personas' requests with retrieved, gold and no context; pairs; and generated requests about
times. Statistics of an argument (where its values usually come from) are always counted on other folds than
the request's, otherwise they would leak its label.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.datasets import Pair
from contextune.lab.train.rankers.argument_examples import (
    NO_CONTEXT,
    ORACLE,
    RETRIEVED,
    ArgumentExample,
    PlannedRequest,
    argument_examples,
)
from contextune.lab.train.rankers.argument_pairs import pair_examples
from contextune.plan.pointer.feature_names import NAMES
from contextune.plan.pointer.priors import ArgumentPriors, ArgumentStatistics, CommonWords
from contextune.plan.pointer.scorer import CONFIDENCE_FEATURES, ArgumentScorer, confidence_features
from contextune.rank import CandidateGroup, LogisticRegression, Ranker, RankerSettings
from contextune.search import tokenize
from contextune.types import Progress, Tool

Floats = NDArray[np.float64]
SETTINGS = RankerSettings(
    rounds=160,
    seeds=1,
    rate=0.08,
    leaves=12,
    smallest_leaf=15,
    feature_share=0.5,
    row_share=0.8,
    truncation=4,
)
_MAX_NEGATIVES = 40
"""Maximum number of wrong candidates per argument; there may be hundreds of similar ones."""
_PAIR_STEP = 3
"""Use every n-th pair: more would outweigh the personas, whose items are complete."""
_UNKNOWN_SHARE = 0.2
"""Share of arguments trained without statistics, like those of new tools."""
_PRIORS = [NAMES.index(name) for name in ("prior", "prior by name", "prior rank", "given")]


@dataclass(frozen=True, eq=False)
class ArgumentTrainingData:
    """All training examples; `counted` marks those that the statistics count."""

    examples: Sequence[ArgumentExample]
    counted: Sequence[bool]
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
        """Collect examples from requests, generated requests and pairs."""
        examples: list[ArgumentExample] = []
        counted: list[bool] = []
        for number, request in enumerate(requests, 1):
            for context in (RETRIEVED, ORACLE, NO_CONTEXT):
                filled = list(argument_examples(request, tools, context))
                examples += filled
                counted += [context == ORACLE] * len(filled)
            if progress:
                progress(number, len(requests))
        extra = [*generated, *pair_examples(pairs[::_PAIR_STEP], tools)]
        return cls([*examples, *extra], [*counted, *[False] * len(extra)], common_words(pairs))

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
        examples_of_fold = [example for example in data.examples if example.fold == fold]
        # groups with one grade only teach nothing
        all_groups = [_group(example, statistics, draw) for example in examples_of_fold]
        groups += [group for group in all_groups if group.grades.any() and not group.grades.all()]
    return Ranker.fit(groups, NAMES, SETTINGS, progress=progress)


def _group(
    example: ArgumentExample, statistics: ArgumentStatistics, draw: np.random.Generator
) -> CandidateGroup:
    """An argument as seen at run time: of a known tool, with restricted candidates, or of a new tool."""
    hide_priors = draw.random() < _UNKNOWN_SHARE
    example = example if hide_priors else example.restricted(statistics)
    wrong = np.flatnonzero(example.grades == 0)
    if len(wrong) > _MAX_NEGATIVES:
        wrong = draw.choice(wrong, _MAX_NEGATIVES, replace=False)
    kept = np.sort(np.concatenate([np.flatnonzero(example.grades), wrong]))
    matrix = example.matrix(statistics)[kept]
    if hide_priors:
        matrix[:, _PRIORS] = np.nan
    return CandidateGroup(matrix, example.grades[kept])


@dataclass(frozen=True, eq=False)
class ArgumentFold:
    """Ranker and statistics without one fold, for requests of that fold."""

    ranker: Ranker
    statistics: ArgumentStatistics


def fit_by_fold(data: ArgumentTrainingData, *, progress: Progress | None = None) -> dict[int, ArgumentFold]:
    """A ranker and statistics per fold, fitted without it."""
    folds = sorted({example.fold for example in data.examples if example.fold >= 0})
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
    for example in data.examples:
        if (
            example.fold < 0
            or example.fold in excluded_folds
            or example.name.rpartition("/")[2].startswith("time")
        ):
            continue  # calibrate on real requests only
        restricted = example.restricted(models[example.fold].statistics)
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
    models = fit_by_fold(data, progress=progress)
    return ArgumentScorer(fit(data), data.statistics(), fit_confidence(data, models), about)
