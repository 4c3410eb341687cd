"""Requests of personas with their gold calls, and the context found by models that have not seen them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from contextune.context.ranker import fusion_lists
from contextune.datasets import Persona, Query
from contextune.plan.judge import ExpectedCall
from contextune.plan.planning_input import PlanningInput
from contextune.types import Item, ItemHit
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context.examples import ContextExample
from contextune_lab.train.rankers.context.train import FeaturedExamples, choose_fusion

Floats = NDArray[np.float64]
RETRIEVED, ORACLE, NO_CONTEXT = "found", "oracle", "alone"


@dataclass(frozen=True, eq=False)
class PlannedRequest:
    """One request of a persona with its gold call and its context, retrieved by out-of-fold models."""

    name: str
    group: str
    """The persona."""
    fold: int
    kind: str
    measured: bool
    planning_input: PlanningInput
    expected: ExpectedCall
    relevant: Mapping[str, int]
    """Relevant items with their grades."""
    items: Mapping[str, Item]
    """All items of the persona, by id."""

    def with_context(self, context: str) -> PlanningInput:
        """The planning input with the retrieved context, the gold context, or none."""
        if context == RETRIEVED:
            return self.planning_input
        if context == NO_CONTEXT:
            return replace(self.planning_input, hits=())
        return replace(self.planning_input, hits=self._relevant_hits())

    def _relevant_hits(self) -> list[ItemHit]:
        order = sorted(self.relevant.items(), key=lambda pair: -pair[1])
        return [ItemHit(self.items[name], float(grade)) for name, grade in order]


def fuse_out_of_fold(data: FeaturedExamples, scores: Sequence[Floats]) -> list[Floats]:
    """Fuse scores as at run time, with weights chosen on the other folds."""
    fused_scores: list[Floats] = [np.empty(0)] * len(scores)
    for fold in sorted({example.fold for example in data.examples}):
        other_folds = [n for n, example in enumerate(data.examples) if example.fold != fold]
        data_of_others = data.select(lambda example, fold=fold: example.fold != fold)
        weights = choose_fusion(data_of_others, [scores[n] for n in other_folds])
        for n, example in enumerate(data.examples):
            if example.fold == fold:
                fused_scores[n] = weights.fuse(fusion_lists(example.scene, scores[n]))
    return fused_scores


def from_personas(
    folds: FoldVectors, examples: Sequence[ContextExample], scores: Sequence[Floats]
) -> list[PlannedRequest]:
    """The personas' requests, items ranked by `scores` of out-of-fold models."""
    by_name = {example.name: (example, score) for example, score in zip(examples, scores, strict=True)}
    requests: list[PlannedRequest] = []
    for persona in folds.all_personas:
        for query in persona.queries:
            example, score = by_name[persona.name(query)]
            hits = ranked_hits(example, score)
            requests.append(planned_request(persona, query, hits, example.fold, measured=example.measured))
    return requests


def ranked_hits(example: ContextExample, score: Floats) -> list[ItemHit]:
    """The candidates of an example as hits, best first."""
    items = example.scene.items
    return [ItemHit(items[n], float(score[n])) for n in map(int, np.argsort(-score, kind="stable"))]


def planned_request(
    persona: Persona,
    query: Query,
    hits: Sequence[ItemHit],
    fold: int,
    *,
    measured: bool,
) -> PlannedRequest:
    """One request of a persona; `hits` are its ranked items."""
    gold = query.gold
    return PlannedRequest(
        persona.name(query),
        persona.id,
        fold,
        gold.kind or "unknown",
        measured,
        PlanningInput(persona.request(query), persona.user, hits),
        ExpectedCall.from_args(gold.api or "", gold.args or {}),
        gold.relevant or {},
        {item.id: item for item in persona.items},
    )
