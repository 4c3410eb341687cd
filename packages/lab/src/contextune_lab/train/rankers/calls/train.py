"""Train the call ranker: ranking of filled calls, tool classifier, and calibrated probabilities.

All features of an example come from models that have not seen its persona, and so do the scores on which the
probabilities are calibrated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.request_classifier import softmax
from contextune.plan.calls.classifier import ToolClassifier
from contextune.plan.calls.feature_names import NAMES, READ_NAMES
from contextune.plan.calls.planner import in_doubt
from contextune.plan.calls.ranker import (
    NONE_INPUTS,
    READ_RIGHT_INPUTS,
    RIGHT_INPUTS,
    CallProbabilities,
    CallRanker,
    calibrated,
    none_inputs,
    right_inputs,
)
from contextune.plan.calls.statistics import CallStatistics
from contextune.rank import CandidateGroup, Ranker, RankerSettings
from contextune.types import Progress
from contextune_lab.train.rankers.calls.examples import CallExample
from contextune_lab.train.rankers.calls.requests import EVERYDAY, FULL

Floats = NDArray[np.float64]
SETTINGS = RankerSettings(
    rounds=150,
    seeds=1,
    rate=0.05,
    leaves=8,
    smallest_leaf=20,
    feature_share=0.4,
    row_share=0.8,
    truncation=4,
)
RIGHT_SETTINGS = replace(SETTINGS, rounds=120, smallest_leaf=30, objective="binary")
NONE_SETTINGS = replace(RIGHT_SETTINGS, rounds=150)
_UNKNOWN_SHARE = 0.15
"""Share of requests trained a second time without what is known of their tools, as of other catalogues."""
_UNKNOWN = [
    NAMES.index(name)
    for name in (
        *("tool known", "tool known behind", "action known"),
        *("tool prior", "pattern", "pattern behind"),
    )
]
_CLASSIFIER_RIDGE = 1e-3
_CLASSIFIER_SCALE = 4.0
"""Unit vectors are short for a ridge of this size."""


def _read(examples: Sequence[CallExample]) -> bool:
    """Whether the examples have what the reader says among their features."""
    return examples[0].matrix.shape[1] == len(READ_NAMES)


def fit_classifier(vectors: NDArray[Any], tools: Sequence[str]) -> ToolClassifier:
    """Fit the tool classifier to vectors of requests and the names of their tools (multinomial ridge)."""
    from scipy import optimize  # slow to import, and only needed for training

    names = tuple(sorted(set(tools)))
    place = {name: number for number, name in enumerate(names)}
    labels = np.eye(len(names))[[place[name] for name in tools]]
    rows = np.hstack([vectors, np.ones((len(vectors), 1))]).astype(np.float64)
    shape = labels.shape[1], rows.shape[1]

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        predicted = softmax(_CLASSIFIER_SCALE * rows @ weights.T)
        value = -float(np.sum(labels * np.log(predicted + 1e-12))) / len(rows)
        slope = _CLASSIFIER_SCALE * (predicted - labels).T @ rows / len(rows) + _CLASSIFIER_RIDGE * weights
        return value + _CLASSIFIER_RIDGE / 2 * float(np.sum(weights**2)), slope.ravel()

    solution: Any = cast("Any", optimize).minimize(
        loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 80}
    )
    return ToolClassifier(names, (_CLASSIFIER_SCALE * solution.x.reshape(shape)).astype(np.float32))


def fit(examples: Sequence[CallExample], *excluded_folds: int, progress: Progress | None = None) -> Ranker:
    """Fit a ranker of calls without the excluded folds."""
    draw = np.random.default_rng(0)
    groups: list[CandidateGroup] = []
    for example in examples:
        copied = draw.random() < _UNKNOWN_SHARE
        grades = example.grades
        if example.fold in excluded_folds or not example.judged or len(set(grades.tolist())) < 2:
            continue  # a request whose calls are equally right teaches nothing
        groups.append(CandidateGroup(example.matrix, grades))
        if copied:
            matrix = example.matrix.copy()
            matrix[:, _UNKNOWN] = np.nan
            matrix[:, len(NAMES) :] = np.nan
            groups.append(CandidateGroup(matrix, grades))
    return Ranker.fit(groups, READ_NAMES if _read(examples) else NAMES, SETTINGS, progress=progress)


@dataclass(frozen=True, eq=False)
class RankedExample:
    """An example with the scores of a ranker that has not seen it, and its probabilities."""

    example: CallExample
    ranked: CallProbabilities

    @property
    def best(self) -> int:
        """The row of the best call."""
        return int(np.argmax(self.ranked.scores))


def out_of_fold_scores(
    examples: Sequence[CallExample], *, progress: Progress | None = None
) -> tuple[list[Floats], dict[int, Ranker]]:
    """Scores of rankers fitted on the other folds, and those rankers."""
    folds = sorted({example.fold for example in examples})
    rankers: dict[int, Ranker] = {}
    for number, fold in enumerate(folds, 1):
        rankers[fold] = fit(examples, fold)
        if progress:
            progress(number, len(folds))
    return [rankers[example.fold].score(example.matrix) for example in examples], rankers


def fit_right(examples: Sequence[CallExample], scores: Sequence[Floats], *excluded_folds: int) -> Ranker:
    """The probability that a call is right if some tool serves, from out-of-fold scores."""
    groups = [
        CandidateGroup(right_inputs(example.matrix, score), example.ast.astype(np.int64))
        for example, score in zip(examples, scores, strict=True)
        if example.served and example.judged and example.fold not in excluded_folds and len(score)
    ]
    names = READ_RIGHT_INPUTS if _read(examples) else RIGHT_INPUTS
    return Ranker.fit(groups, names, RIGHT_SETTINGS)


def fit_none(examples: Sequence[CallExample], scores: Sequence[Floats], *excluded_folds: int) -> Ranker:
    """The probability that no tool serves, from out-of-fold scores."""
    groups = [
        CandidateGroup(none_inputs(example.matrix, score)[None], np.array([not example.served], np.int64))
        for example, score in zip(examples, scores, strict=True)
        if example.fold not in excluded_folds and len(score)
    ]
    return Ranker.fit(groups, NONE_INPUTS, NONE_SETTINGS)


def cross_validate(
    examples: Sequence[CallExample], *, progress: Progress | None = None
) -> tuple[list[RankedExample], dict[int, Ranker]]:
    """Rank every example with models fitted on the other folds; also return the rankers by fold."""
    scores, rankers = out_of_fold_scores(examples, progress=progress)
    models = {fold: (fit_right(examples, scores, fold), fit_none(examples, scores, fold)) for fold in rankers}
    ranked = [
        RankedExample(example, calibrated(example.matrix, score, *models[example.fold]))
        for example, score in zip(examples, scores, strict=True)
    ]
    return ranked, rankers


def reader_is_asked(ranked: Sequence[RankedExample]) -> list[bool]:
    """For each request whether the planner asks the reader."""
    return [in_doubt(row.ranked) for row in ranked]


def train(
    examples: Sequence[CallExample],
    classifier: ToolClassifier,
    statistics: CallStatistics,
    about: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> CallRanker:
    """Train the ranker that ships, on all examples."""
    scores, _ = out_of_fold_scores(examples, progress=progress)
    right, none = fit_right(examples, scores), fit_none(examples, scores)
    return CallRanker(fit(examples), classifier, statistics, right, none, about)


def examples_by_kind(ranked: Sequence[RankedExample]) -> dict[str, list[RankedExample]]:
    """The requests with a right call: explicit and implicit ones of the personas, and everyday ones."""
    kinds: dict[str, list[RankedExample]] = {"explicit": [], "implicit": [], EVERYDAY: []}
    for row in ranked:
        if row.example.source == FULL:
            kinds["explicit" if row.example.kind == "explicit" else "implicit"].append(row)
        elif row.example.source == EVERYDAY and row.example.served:
            kinds[EVERYDAY].append(row)
    return {kind: rows for kind, rows in kinds.items() if rows}
