"""Prepare the training data of the call ranker: out-of-fold context, tools and arguments of every request.

Each stage writes its result to a cache folder, since they take from minutes to an hour. The folder belongs to
one version of the fold vectors and of the features; empty it after other changes to the models.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals import FEATURE_NAMES as CONTEXT_FEATURES
from contextune.datasets import Pair, Persona, plain_requests, training_requests
from contextune.embed import Embedder, Matrix
from contextune.plan.calls.classifier import ToolClassifier
from contextune.plan.calls.statistics import CallStatistics
from contextune.plan.pointer.planner import PointerPlanner
from contextune.plan.pointer.scoring.feature_names import NAMES as ARGUMENT_FEATURES
from contextune.plan.pointer.scoring.scorer import ArgumentScorer
from contextune.tools.abstain import AbstentionModel
from contextune.tools.features import FEATURE_NAMES as TOOL_FEATURES
from contextune.tools.ranker import ToolRanker
from contextune.types import Progress, Tool
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.arguments import examples as argument_examples
from contextune_lab.train.rankers.arguments import train as arguments
from contextune_lab.train.rankers.arguments.examples import PlannedRequest
from contextune_lab.train.rankers.arguments.times import time_examples
from contextune_lab.train.rankers.calls.examples import (
    CallExample,
    FilledRequest,
    FoldModels,
    call_example,
    call_statistics,
)
from contextune_lab.train.rankers.calls.requests import (
    CallRequest,
    EverydayRequest,
    ExtendedFolds,
    authored_requests,
    everyday_call_requests,
    persona_requests,
    retrieve_everyday,
)
from contextune_lab.train.rankers.calls.train import fit_classifier
from contextune_lab.train.rankers.context.examples import ContextExample, from_folds
from contextune_lab.train.rankers.context.train import FeaturedExamples
from contextune_lab.train.rankers.tools import examples as tool_examples
from contextune_lab.train.rankers.tools import train as tools
from contextune_lab.train.rankers.tools.abstention import AbstentionData
from contextune_lab.train.rankers.tools.examples import ToolExample

Floats = NDArray[np.float64]
_ALL = "all"
ShowProgress = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of a named stage."""


@dataclass(frozen=True, eq=False)
class CallData:
    """All requests with their filled calls, and the models of each fold."""

    filled: Sequence[FilledRequest]
    models: Mapping[int, FoldModels]
    classifier: ToolClassifier
    """Of all folds."""
    statistics: CallStatistics
    """Of all folds."""
    scorer: ArgumentScorer
    """Of all folds."""

    @property
    def examples(self) -> list[CallExample]:
        """The training examples."""
        return [filled.example for filled in self.filled]

    def read(
        self,
        tools: Mapping[str, Tool],
        probabilities: Mapping[str, Mapping[str, float]],
        *,
        progress: Progress | None = None,
    ) -> list[FilledRequest]:
        """The requests filled again with what the reader says; `probabilities` by request, out of fold."""
        read: list[FilledRequest] = []
        for number, filled in enumerate(self.filled, 1):
            request = filled.request
            read.append(call_example(request, self.models[request.fold], tools, probabilities[request.name]))
            if progress:
                progress(number, len(self.filled))
        return read


@dataclass(frozen=True, eq=False)
class CallDataBuilder:
    """Builds `CallData` stage by stage."""

    folds: FoldVectors
    embedder: Embedder
    catalogue: Mapping[str, Tool]
    pairs: Sequence[Pair]
    cache: Path
    show: ShowProgress
    per_fold: int | None = None
    """Personas per fold; all by default."""

    def build(self) -> CallData:
        """Run all stages, or read what the cache has."""
        folds = ExtendedFolds(self.folds, training_requests(), per_fold=self.per_fold)
        contexts = from_folds(folds)
        scores, fused = self._context_scores(contexts)
        planned = _planned(folds, contexts, fused)
        examples = tool_examples.from_personas(folds, contexts, scores)
        rankers = self._tool_rankers(examples)
        with self.show("Everyday requests") as update:
            everyday = list(retrieve_everyday(folds.all_personas, folds.fold, self.embedder, progress=update))
        planners, scorer = self._planners(folds, [*planned, *(row.planned for row in everyday if row.served)])
        requests = self._requests(folds.all_personas, folds.fold, planned, examples, rankers)
        requests += everyday_call_requests(everyday, rankers, self.embedder)
        vectors, names, of_fold = self._classifier_data(examples, everyday)
        models: dict[int, FoldModels] = {}
        with self.show("Tool classifiers") as update:
            for number, fold in enumerate(sorted(planners), 1):
                kept = of_fold != fold
                classifier = fit_classifier(vectors[kept], [n for n, k in zip(names, kept, strict=True) if k])
                models[fold] = FoldModels(planners[fold], classifier, call_statistics(requests, fold))
                update(number, len(planners))
        filled: list[FilledRequest] = []
        with self.show("Filling calls") as update:
            for number, request in enumerate(requests, 1):
                filled.append(call_example(request, models[request.fold], self.catalogue))
                update(number, len(requests))
        return CallData(filled, models, fit_classifier(vectors, names), call_statistics(requests), scorer)

    def _context_scores(self, examples: Sequence[ContextExample]) -> tuple[list[Floats], list[Floats]]:
        """Out-of-fold scores of the items of each request, before and after fusion."""
        file = self.cache / f"context-{self._digest(CONTEXT_FEATURES, examples)}.npz"
        counts = [len(example.ids) for example in examples]
        if not file.exists():
            with self.show("Signals") as update:
                data = FeaturedExamples.build(examples, progress=update)
            with self.show("Context rankers") as update:
                scores = tool_examples.out_of_fold_context_scores(data, progress=update)
            fused = argument_examples.fuse_out_of_fold(data, scores)
            self.cache.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(file, scores=np.concatenate(scores), fused=np.concatenate(fused))
        with np.load(file, allow_pickle=False) as arrays:
            ends = np.cumsum(counts)[:-1]
            return np.split(arrays["scores"], ends), np.split(arrays["fused"], ends)

    def _tool_rankers(self, examples: Sequence[ToolExample]) -> dict[int, ToolRanker]:
        """A tool ranker with its abstention model per fold, fitted without it."""
        folder = self.cache / f"tools-{self._digest(TOOL_FEATURES, examples)}"
        folds = sorted({example.fold for example in examples})
        if not (folder / str(folds[-1])).exists():
            with self.show("Tools of requests") as update:
                data = tools.with_features(
                    [*examples, *map(tool_examples.without_context, examples)], progress=update
                )
            with self.show("Tool rankers") as update:
                models = tools.fit_by_holdout(data, progress=update)
            abstention = AbstentionData.build(data, models, self.embedder)
            holdouts = {example.fold: example.holdout for example in examples}
            for fold in folds:
                needs_context = tools.context_model(examples, self.embedder, excluded_fold=fold)
                model = AbstentionModel(abstention.model(holdouts[fold]), needs_context, {})
                ToolRanker(models[holdouts[fold]], model, {}).save(folder / str(fold))
        return {fold: ToolRanker.load(folder / str(fold)) for fold in folds}

    def _planners(
        self, folds: FoldVectors, planned: Sequence[PlannedRequest]
    ) -> tuple[dict[int, PointerPlanner], ArgumentScorer]:
        """A planner per fold, whose argument scorer is fitted without it, and the scorer of all folds."""
        folder = self.cache / f"arguments-{self._digest(ARGUMENT_FEATURES, planned)}"
        numbers = sorted({request.fold for request in planned})
        if not (folder / _ALL).exists():
            generated = list(time_examples(folds.all_personas, folds.fold, self.catalogue))
            with self.show("Arguments") as update:
                data = arguments.ArgumentTrainingData.build(
                    planned, generated, self.pairs, self.catalogue, progress=update
                )
            with self.show("Argument scorers") as update:
                fitted = arguments.fit_by_fold(data, progress=update)
            for fold, model in fitted.items():
                confidence = arguments.fit_confidence(data, fitted, fold)
                ArgumentScorer(model.ranker, model.statistics, confidence, {}).save(folder / str(fold))
            about = {"requests": len(planned), "arguments": len(data.examples)}
            confidence = arguments.fit_confidence(data, fitted)
            ArgumentScorer(arguments.fit(data), data.statistics(), confidence, about).save(folder / _ALL)
        planners = {fold: PointerPlanner(ArgumentScorer.load(folder / str(fold))) for fold in numbers}
        return planners, ArgumentScorer.load(folder / _ALL)

    def _requests(
        self,
        personas: Sequence[Persona],
        folds: Mapping[str, int],
        planned: Sequence[PlannedRequest],
        examples: Sequence[ToolExample],
        rankers: Mapping[int, ToolRanker],
    ) -> list[CallRequest]:
        with self.show("Finding tools") as update:
            requests = list(persona_requests(planned, examples, rankers, self.embedder.name, progress=update))
        with self.show("Authored requests") as update:
            requests += authored_requests(personas, folds, rankers, self.embedder, progress=update)
        return requests

    def _classifier_data(
        self, examples: Sequence[ToolExample], everyday: Sequence[EverydayRequest]
    ) -> tuple[Matrix, list[str], NDArray[np.int64]]:
        """Vectors of requests, their tools and folds (-1: none), from personas, pairs and plain requests.

        The spaces of the fold's embedders and of the bundled one are close: all start from the same weights.
        """
        plain = [request for request in plain_requests() if request.api]
        texts = [*(pair.query for pair in self.pairs), *(request.text for request in plain)]
        file = self.cache / f"vectors-{sha256(self.embedder.name.encode()).hexdigest()[:8]}-{len(texts)}.npy"
        if not file.exists():
            step = 256
            rows: list[Matrix] = []
            with self.show("Embedding pairs") as update:
                for start in range(0, len(texts), step):
                    rows.append(self.embedder.embed(texts[start : start + step]))
                    update(min(start + step, len(texts)), len(texts))
            np.save(file, np.vstack(rows).astype(np.float16))
        names = [example.index.catalog[_right_place(example)].name for example in examples]
        names += [*(pair.api for pair in self.pairs), *(str(request.api) for request in plain)]
        vectors = np.vstack([np.stack([example.query.vector for example in examples]), np.load(file)])
        of_fold = [*(example.fold for example in examples), *[-1] * len(texts)]
        if served := [request for request in everyday if request.served]:
            vectors = np.vstack([vectors, np.stack([request.query.vector for request in served])])
            names += [request.planned.expected.tool for request in served]
            of_fold += [request.planned.fold for request in served]
        return vectors.astype(np.float32), names, np.array(of_fold, np.int64)

    def _digest(self, features: Sequence[str], rows: Sequence[Any]) -> str:
        """Changes with the fold vectors, the features and the requests."""
        checksum = sha256(self.folds.file.read_bytes())
        checksum.update("\n".join([*features, *(row.name for row in rows)]).encode())
        return checksum.hexdigest()[:12]


def _right_place(example: ToolExample) -> int:
    return max(example.grades, key=example.grades.__getitem__)


def _planned(
    folds: ExtendedFolds, contexts: Sequence[ContextExample], fused: Sequence[Floats]
) -> list[PlannedRequest]:
    """The requests with their context; those that are not the persona's own count as additional."""
    own = {
        persona.name(query)
        for persona in (*folds.personas, *folds.training_only)
        for query in persona.queries
    }
    return [
        request if request.name in own else replace(request, additional=True)
        for request in argument_examples.from_personas(folds, contexts, fused)
    ]
