"""The table again, each persona among many more items: what a paper's few items do not show."""

from collections.abc import Mapping

import numpy as np

from contextune.context.signals import features
from contextune.evaluate.metrics import Run
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context import FeaturedExamples, TrainedPasses
from contextune.lab.train.rankers.haystack import haystack
from contextune.search import reciprocal_rank_fusion
from contextune.types import Progress


def haystack_rows(
    folds: FoldVectors, data: FeaturedExamples, size: int, *, progress: Progress | None = None
) -> Mapping[str, Run]:
    """Words, meaning and the learned ranking over so many items.

    Each persona by models that have not seen it, and that were trained on personas as they are.
    """
    trained = {
        fold: TrainedPasses.learnt(data.part(lambda example, fold=fold: example.fold != fold))
        for fold in sorted({example.fold for example in data.examples})
    }
    rows: dict[str, dict[str, list[str]]] = {}
    for example in haystack(folds, size, progress=progress):
        scene, ids = example.scene, example.ids
        found = {
            "BM25T": scene.likeness.lexical,
            "Fine-tuned semantic search": scene.likeness.situated,
            "LambdaMART-RRF": trained[example.fold].rank(example, features(scene)).fused,
        }
        orders = {name: np.argsort(-values, kind="stable").tolist() for name, values in found.items()}
        orders["Hybrid, RRF"] = [
            n for n, _ in reciprocal_rank_fusion([orders["BM25T"], orders["Fine-tuned semantic search"]])
        ]
        for name in ("BM25T", "Fine-tuned semantic search", "Hybrid, RRF", "LambdaMART-RRF"):
            rows.setdefault(name, {})[example.name] = [ids[n] for n in orders[name]]
    return rows
