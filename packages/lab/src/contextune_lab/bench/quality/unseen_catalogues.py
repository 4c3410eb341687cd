"""Tool search on catalogues that no ranker has seen: learned against hybrid, and by part against as a whole.

For each family of public catalogues, the ranker is trained on the personas and on all other families, so a
user's own catalogue is simulated. The embedder has not seen the request, but, except for `UNTRAINED`, other
requests to the same catalogue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from contextune.evaluate.metrics import Run
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.rank import Ranker
from contextune.tools.methods import ToolSearch, hybrid
from contextune.tools.ranker import default_tool_ranker
from contextune.types import Progress
from contextune_lab.train.rankers.tools.examples import ToolExample
from contextune_lab.train.rankers.tools.train import FeaturedExample, fit_by_holdout, training_examples

METRICS = ("recall@1", "recall@3", "recall@5", "recall@10", "hit@1")
HYBRID, HYBRID_PARTS = "hybrid, RRF", "hybrid, by part"
LEARNED, LEARNED_WHOLE = "learned", "learned, whole request only"
DIVIDED, UNDIVIDED = "divided", "undivided"
"""Kinds of requests: those that ask for several things, and the others."""
_DEPTH = 50


def unseen_tables(
    personas: Sequence[ToolExample], public: Sequence[ToolExample], *, progress: Progress | None = None
) -> dict[str, ResultTable]:
    """One table per public source, with the divided requests as a kind of their own."""
    rankers = fit_by_holdout(training_examples(personas, public), progress=progress)
    tables: dict[str, ResultTable] = {}
    for source in dict.fromkeys(example.source for example in public):
        examples = [_without_past_calls(example) for example in public if example.source == source]
        tables[source] = evaluate_runs(
            source_runs(examples, rankers),
            {example.name: _qrels(example) for example in examples},
            METRICS,
            kinds={example.name: DIVIDED if example.query.parts else UNDIVIDED for example in examples},
            baseline=HYBRID,
        )
    return tables


def source_runs(examples: Sequence[ToolExample], rankers: Mapping[str, Ranker]) -> dict[str, Run]:
    """Rank the tools for every request with every method."""
    whole = [_undivided(example) for example in examples]
    return {
        HYBRID: {example.name: _hybrid(example) for example in whole},
        HYBRID_PARTS: {example.name: _hybrid(example) for example in examples},
        LEARNED_WHOLE: {example.name: _learned(example, rankers) for example in whole},
        LEARNED: {example.name: _learned(example, rankers) for example in examples},
    }


def _hybrid(example: ToolExample) -> list[str]:
    visible = np.ones(len(example.index.catalog), bool)
    search = ToolSearch(example.index, example.query, visible, _DEPTH, default_tool_ranker)
    return [str(position) for position, _ in hybrid(search).scored[:_DEPTH]]


def _learned(example: ToolExample, rankers: Mapping[str, Ranker]) -> list[str]:
    featured = FeaturedExample.build(example)
    scores = rankers[example.holdout].score(featured.group.matrix)
    order = np.argsort(-scores, kind="stable")[:_DEPTH]
    return [str(featured.places[row]) for row in order]


def _qrels(example: ToolExample) -> dict[str, int]:
    return {str(place): 1 for place in example.grades}


def _undivided(example: ToolExample) -> ToolExample:
    return replace(example, query=replace(example.query, parts=()))


def _without_past_calls(example: ToolExample) -> ToolExample:
    """Hybrid search does not use them."""
    return replace(example, query=replace(example.query, past_calls=None))
