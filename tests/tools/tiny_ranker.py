"""A tool ranker trained on chosen features only, and the bundled retriever."""

from functools import cache

import numpy as np

from contextune.rank import CandidateGroup, LogisticRegression, Ranker, RankerSettings
from contextune.tools import ToolRanker, ToolRetriever, bundled_toolbox
from contextune.tools.abstain import FIT_INPUTS, AbstentionModel, context_inputs
from contextune.tools.features import FEATURE_NAMES

WIDTH = 512
"""Dimension of `WordEmbedder`."""
THRESHOLDS = {"0.01": 0.9, "0.1": 0.6, "0.5": 0.2}


@cache
def tiny_ranker(*features: str, embedder: str = "hashed words") -> ToolRanker:
    """Ranks by the sum of these features; `fits` depends on the best similarity alone."""
    draw = np.random.default_rng(0)
    columns = [FEATURE_NAMES.index(name) for name in features]
    groups: list[CandidateGroup] = []
    for _ in range(80):
        matrix = np.zeros((10, len(FEATURE_NAMES)), np.float32)
        # of all scales, so that small differences count too
        matrix[:, columns] = draw.uniform(-1, 1, (10, len(columns))) * draw.uniform(0.1, 1)
        grades = np.zeros(10, np.int64)
        grades[matrix.sum(1).argmax()] = 1
        groups.append(CandidateGroup(matrix, grades))
    quick = RankerSettings(rounds=16, seeds=1, smallest_leaf=5, feature_share=1.0, rate=0.4)
    return ToolRanker(Ranker.fit(groups, FEATURE_NAMES, quick), tiny_abstention(), {"embedder": embedder})


def tiny_abstention() -> AbstentionModel:
    """`fits` rises from 0.02 to 0.98 with the best similarity; context is never needed."""
    weights = np.array([8.0 if name == "best meaning" else 0.0 for name in FIT_INPUTS])
    fits = LogisticRegression(FIT_INPUTS, np.zeros(len(FIT_INPUTS)), np.ones(len(FIT_INPUTS)), weights, -4.0)
    zeros = np.zeros(WIDTH)
    return AbstentionModel(
        fits, LogisticRegression(context_inputs(WIDTH), zeros, zeros + 1, zeros, -4.0), dict(THRESHOLDS)
    )


@cache
def bundled_retriever() -> ToolRetriever:
    """The bundled toolbox with the bundled embedder and ranker."""
    return ToolRetriever(bundled_toolbox())
