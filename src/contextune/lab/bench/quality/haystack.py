"""Context retrieval with many more items per persona than in the paper, and the recall of the candidates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from contextune.context.signals import compute_features
from contextune.evaluate.metrics import Run
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context import TrainedPasses
from contextune.lab.train.rankers.context_examples import ContextExample
from contextune.lab.train.rankers.haystack import haystack_examples
from contextune.search import reciprocal_rank_fusion
from contextune.types import Progress

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
    folds: FoldVectors, trained: Mapping[int, TrainedPasses], size: int, *, progress: Progress | None = None
) -> RankedExamples:
    """BM25, semantic search, hybrid and the ranker over `size` items per persona.

    Each persona is ranked by models that have not seen it.
    """
    return rank_examples(haystack_examples(folds, size, progress=progress), trained)


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
