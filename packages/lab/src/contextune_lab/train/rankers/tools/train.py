"""Train the tool ranker and the abstention model.

The ranker trains on personas' requests with and without context, and on requests to public catalogues and
to samples of them. The abstention model (`abstention.py`) trains on scores of rankers that have not seen the
catalogue or the persona.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from contextune.datasets import plain_requests
from contextune.embed import Embedder
from contextune.rank import LogisticRegression, Ranker, RankerSettings
from contextune.tools.abstain import AbstentionModel, context_inputs
from contextune.tools.features import FEATURE_NAMES
from contextune.tools.ranker import ToolRanker
from contextune.types import Progress
from contextune_lab.train.embedder.data import FOLDS
from contextune_lab.train.rankers.tools.abstention import AbstentionData
from contextune_lab.train.rankers.tools.examples import ToolExample, without_context
from contextune_lab.train.rankers.tools.featured_examples import FeaturedExample, with_features
from contextune_lab.train.rankers.tools.sampled_catalogues import sample_catalogues

__all__ = [
    "FeaturedExample",
    "context_model",
    "fit",
    "fit_by_fold",
    "fit_by_holdout",
    "train",
    "training_examples",
    "with_features",
]
Key = TypeVar("Key", int, str)
SETTINGS = RankerSettings(rounds=200, seeds=1, rate=0.05, leaves=12)


def fit(examples: Sequence[FeaturedExample], *, progress: Progress | None = None) -> Ranker:
    """Fit a ranker on these examples."""
    groups = [
        featured.group
        for featured in examples
        if featured.group.grades.any() and not featured.group.grades.all()
    ]
    return Ranker.fit(groups, FEATURE_NAMES, SETTINGS, progress=progress)


def fit_by_fold(
    examples: Sequence[FeaturedExample], *, progress: Progress | None = None
) -> dict[int, Ranker]:
    """A ranker per fold, fitted without it."""
    return _fit_without(examples, lambda example: example.fold, progress)


def fit_by_holdout(
    examples: Sequence[FeaturedExample], *, progress: Progress | None = None
) -> dict[str, Ranker]:
    """A ranker per `ToolExample.holdout`, fitted without it: for catalogues and personas not seen."""
    return _fit_without(examples, lambda example: example.holdout, progress)


def _fit_without(
    examples: Sequence[FeaturedExample],
    key: Callable[[ToolExample], Key],
    progress: Progress | None,
) -> dict[Key, Ranker]:
    keys = sorted({key(featured.example) for featured in examples})
    rankers: dict[Key, Ranker] = {}
    for number, left_out in enumerate(keys, 1):
        rankers[left_out] = fit([featured for featured in examples if key(featured.example) != left_out])
        if progress:
            progress(number, len(keys))
    return rankers


def context_model(
    personas: Sequence[ToolExample], embedder: Embedder, *, excluded_fold: int | None = None
) -> LogisticRegression:
    """Fit a classifier of implicit against self-contained requests.

    To the personas' requests, whose vectors are out of fold, authored requests of both kinds are added; those
    of `excluded_fold` are left out.
    """
    asked = [example for example in personas if example.fold != excluded_fold]
    plain = [
        request
        for number, request in enumerate(plain_requests())
        if excluded_fold is None or number % FOLDS != excluded_fold
    ]
    known = np.stack([example.query.vector for example in asked])
    vectors = np.vstack([known, embedder.embed([request.text for request in plain])])
    implicit = [example.kind != "explicit" for example in asked] + [request.implicit for request in plain]
    inputs = context_inputs(vectors.shape[1])
    return LogisticRegression.fit(vectors, np.array(implicit), inputs, ridge=3e-2)


def training_examples(
    personas: Sequence[ToolExample], public: Sequence[ToolExample]
) -> list[FeaturedExample]:
    """Personas' requests with and without context, public catalogues and samples of them, with features."""
    return with_features([*personas, *map(without_context, personas), *sample_catalogues(public)])


def train(
    personas: Sequence[ToolExample],
    public: Sequence[ToolExample],
    embedder: Embedder,
    about: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> ToolRanker:
    """Train the ranker that ships, on all examples."""
    examples = training_examples(personas, public)
    data = AbstentionData.build(examples, fit_by_holdout(examples, progress=progress), embedder)
    abstain = AbstentionModel(data.model(), context_model(personas, embedder), data.thresholds())
    return ToolRanker(fit(examples), abstain, about)
