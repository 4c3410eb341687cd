"""Context retrieval with many more items per persona than in the paper, and the recall of the candidates."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from contextune.context.signals import compute_features
from contextune.errors import ContextuneError
from contextune.evaluate.metrics import Run
from contextune.fleet import Checkpoint, Execute, Handler, Part, run_locally, run_parts
from contextune.search import reciprocal_rank_fusion
from contextune.types import Progress
from contextune_lab.train.embedder.fold_vectors import FoldVectors, bundled_folds
from contextune_lab.train.rankers.context.examples import ContextExample
from contextune_lab.train.rankers.context.haystack import padded_scenes
from contextune_lab.train.rankers.context.train import TrainedPasses

ROWS = ("BM25T", "Fine-tuned semantic search", "Hybrid, RRF", "LambdaMART-RRF")


@dataclass(frozen=True, slots=True)
class RankedExamples:
    """Rankings of requests by method, and how many of their items were candidates of the ranker."""

    rows: Mapping[str, Run]
    candidate_recall: Mapping[str, float]
    """By request: the share of its relevant items that are candidates."""

    @property
    def mean_candidate_recall(self) -> float:
        """The mean over all requests, in percent."""
        return 100 * float(np.mean(list(self.candidate_recall.values())))


def haystack_rows(
    folds: FoldVectors,
    trained: Mapping[int, TrainedPasses],
    size: int,
    *,
    execute: Execute = run_locally,
    progress: Progress | None = None,
) -> RankedExamples:
    """BM25, semantic search, hybrid and the ranker over `size` items per persona.

    Each persona is ranked by models that have not seen it. On a cluster, workers load the bundled folds.
    """
    work = RankHaystacks(trained, size, folds if execute is run_locally else None)
    parts = [Part(persona.id, persona.id) for persona in folds.personas]
    rows: dict[str, dict[str, list[str]]] = {name: {} for name in ROWS}
    candidate_recall: dict[str, float] = {}
    with Checkpoint() as checkpoint:
        report = run_parts(work, parts, checkpoint, execute=execute, progress=progress)
        if not report.complete:
            raise ContextuneError(f"{report.errors.total()} personas could not be ranked")
        for content in checkpoint.contents(part.key for part in parts):
            result: dict[str, Any] = json.loads(content)
            for name in ROWS:
                rows[name].update(result["rows"][name])
            candidate_recall.update(result["recall"])
    return RankedExamples(rows, candidate_recall)


@dataclass(frozen=True)
class RankHaystacks:
    """Ranks the requests of one persona among many more items."""

    trained: Mapping[int, TrainedPasses]
    size: int
    folds: FoldVectors | None = None
    """None: the bundled ones."""

    def open(self) -> Handler:
        """Load the vectors of the personas."""
        folds = self.folds or bundled_folds()
        own_by_id = {persona.id: (persona, own) for persona, own in folds}

        def handle(payload: Any) -> bytes:
            persona, own = own_by_id[payload]
            scenes, fold = padded_scenes(folds, persona, own, self.size), folds.fold[persona.id]
            examples = [scenes.fold_example(query, own, n, fold) for n, query in enumerate(persona.queries)]
            ranked = rank_examples(examples, self.trained)
            return json.dumps({"rows": ranked.rows, "recall": ranked.candidate_recall}).encode()

        return handle


def rank_examples(examples: Iterable[ContextExample], trained: Mapping[int, TrainedPasses]) -> RankedExamples:
    """Rank the candidates of each example by BM25, meaning, both, and the passes of its fold."""
    rows: dict[str, dict[str, list[str]]] = {name: {} for name in ROWS}
    candidate_recall: dict[str, float] = {}
    for example in examples:
        scene, ids = example.scene, example.ids
        lexical, semantic, ranked = (
            np.argsort(-values, kind="stable").tolist()
            for values in (
                scene.similarities.lexical,
                scene.similarities.situated,
                trained[example.fold].rank(example, compute_features(scene)).fused,
            )
        )
        fused = [n for n, _ in reciprocal_rank_fusion([lexical, semantic])]
        for name, order in zip(ROWS, (lexical, semantic, fused, ranked), strict=True):
            rows[name][example.name] = [ids[n] for n in order]
        candidate_recall[example.name] = np.count_nonzero(example.grades) / max(example.relevant, 1)
    return RankedExamples(rows, candidate_recall)
