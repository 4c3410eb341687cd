"""Context retrieval with many more items per persona than in the paper."""

from collections.abc import Mapping

import numpy as np

from contextune.context.signals import compute_features
from contextune.evaluate.metrics import Run
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context import TrainedPasses
from contextune.lab.train.rankers.haystack import haystack_examples
from contextune.search import reciprocal_rank_fusion
from contextune.types import Progress


def haystack_rows(
    folds: FoldVectors, trained: Mapping[int, TrainedPasses], size: int, *, progress: Progress | None = None
) -> Mapping[str, Run]:
    """BM25, semantic search, hybrid and the ranker over `size` items per persona.

    Each persona is ranked by models that have not seen it, `trained` on personas of their normal size.
    """
    rows: dict[str, dict[str, list[str]]] = {}
    for example in haystack_examples(folds, size, progress=progress):
        scene, ids = example.scene, example.ids
        scores = {
            "BM25T": scene.similarities.lexical,
            "Fine-tuned semantic search": scene.similarities.situated,
            "LambdaMART-RRF": trained[example.fold].rank(example, compute_features(scene)).fused,
        }
        orders = {name: np.argsort(-values, kind="stable").tolist() for name, values in scores.items()}
        orders["Hybrid, RRF"] = [
            n for n, _ in reciprocal_rank_fusion([orders["BM25T"], orders["Fine-tuned semantic search"]])
        ]
        for name in ("BM25T", "Fine-tuned semantic search", "Hybrid, RRF", "LambdaMART-RRF"):
            rows.setdefault(name, {})[example.name] = [ids[n] for n in orders[name]]
    return rows
