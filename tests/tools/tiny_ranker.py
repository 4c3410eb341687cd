"""A ranker of tools that follows the features it is told to, and the retriever as it ships."""

from functools import cache

import numpy as np

from contextune.rank import CandidateGroup, LogisticRegression, Ranker, RankerSettings
from contextune.tools import ToolRanker, ToolRetriever, bundled_toolbox
from contextune.tools.abstain import INPUTS, Abstain, context_inputs
from contextune.tools.features import NAMES

WIDTH = 512
"""Of the vectors of `WordEmbedder`."""
THRESHOLDS = {"0.01": 0.9, "0.1": 0.6, "0.5": 0.2}


@cache
def tiny_ranker(*follows: str, embedder: str = "hashed words") -> ToolRanker:
    """Puts what has most of these features first; whether any fits is read off the best likeness alone."""
    draw = np.random.default_rng(0)
    columns = [NAMES.index(name) for name in follows]
    groups: list[CandidateGroup] = []
    for _ in range(80):
        matrix = np.zeros((10, len(NAMES)), np.float32)
        # of all sizes, so that small differences count as well as large ones
        matrix[:, columns] = draw.uniform(-1, 1, (10, len(columns))) * draw.uniform(0.1, 1)
        grades = np.zeros(10, np.int64)
        grades[matrix.sum(1).argmax()] = 1
        groups.append(CandidateGroup(matrix, grades))
    quick = RankerSettings(rounds=40, seeds=1, smallest_leaf=5, feature_share=1.0, rate=0.2)
    return ToolRanker(Ranker.fit(groups, NAMES, quick), tiny_abstain(), {"embedder": embedder})


def tiny_abstain() -> Abstain:
    """Sure of a fit at a likeness of one, sure of none at zero, and never in need of context."""
    weights = np.array([8.0 if name == "best meaning" else 0.0 for name in INPUTS])
    fits = LogisticRegression(INPUTS, np.zeros(len(INPUTS)), np.ones(len(INPUTS)), weights, -4.0)
    nothing = np.zeros(WIDTH)
    return Abstain(
        fits, LogisticRegression(context_inputs(WIDTH), nothing, nothing + 1, nothing, -4.0), dict(THRESHOLDS)
    )


@cache
def shipped() -> ToolRetriever:
    """The bundled toolbox with the embedder and the ranker of the package."""
    return ToolRetriever(bundled_toolbox())
