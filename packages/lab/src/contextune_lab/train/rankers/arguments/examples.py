"""Training examples for argument filling: requests with their gold calls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from contextune.context.ranker import fusion_lists
from contextune.datasets import Persona, Query
from contextune.plan.judge import ExpectedCall
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import add_choice, fill_order, free_text_candidates
from contextune.plan.pointer.scoring.features import (
    ChosenArguments,
    Matrix,
    add_priors,
    features_without_priors,
)
from contextune.plan.pointer.scoring.priors import (
    ArgumentPriors,
    ArgumentStatistics,
    CommonWords,
    FilledArgument,
)
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.candidates import find_candidates, origin_allowed
from contextune.plan.schema import Parameter
from contextune.plan.values import normalize_value
from contextune.types import Item, ItemHit, Tool
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context.examples import ContextExample
from contextune_lab.train.rankers.context.train import FeaturedExamples, choose_fusion

Floats = NDArray[np.float64]
RETRIEVED, ORACLE, NO_CONTEXT = "found", "oracle", "alone"
EXPLICIT = "explicit"
"""Kind of requests that say all that is needed."""
EVERYDAY = "everyday"
"""Kind of requests that name what they mean, among them questions that an item answers."""


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
    additional: bool = False
    """Whether it is one of `training_requests`, not of the persona's own."""

    @property
    def contexts(self) -> tuple[str, ...]:
        """The contexts to train on: fewer for additional requests, of which there are many."""
        if not self.additional:
            return RETRIEVED, ORACLE, NO_CONTEXT
        if self.kind == EXPLICIT:
            return RETRIEVED, NO_CONTEXT
        if self.kind == EVERYDAY:
            return (RETRIEVED,)
        return (RETRIEVED, ORACLE) if crc32(self.name.encode()) % 3 == 0 else (RETRIEVED,)

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
    additional: bool = False,
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
        additional,
    )


@dataclass(frozen=True, eq=False)
class ArgumentExample:
    """One argument of a gold call: its candidate values and which of them are right."""

    name: str
    fold: int
    tool: Tool
    parameter: Parameter
    planning_input: PlanningInput
    candidates: Sequence[Candidate]
    grades: NDArray[np.int64]
    chosen: ChosenArguments
    rows: NDArray[np.float16] | None = None
    """The features but for the priors, which depend on the fold; computed once, in half precision."""

    @property
    def filled(self) -> FilledArgument:
        """The argument as the priors count it."""
        origins = {
            candidate.origin for candidate, grade in zip(self.candidates, self.grades, strict=True) if grade
        }
        return FilledArgument(self.tool.name, self.parameter.name, frozenset(origins))

    def restricted(self, priors: ArgumentPriors) -> "ArgumentExample":
        """Keep only candidates of origins the argument has had before, as the planner does."""
        seen = priors.known_origins(self.tool, self.parameter) if self.parameter.kind == "text" else None
        kept = [n for n, candidate in enumerate(self.candidates) if origin_allowed(candidate.origin, seen)]
        if len(kept) == len(self.candidates) or not any(not self.candidates[n].is_omitted for n in kept):
            return self
        rows = None if self.rows is None else self.rows[kept]
        return replace(
            self, candidates=[self.candidates[n] for n in kept], grades=self.grades[kept], rows=rows
        )

    def with_rows(self, common: CommonWords) -> "ArgumentExample":
        """The example with its features."""
        rows = features_without_priors(
            self.planning_input, self.tool, self.parameter, self.candidates, common, self.chosen
        )
        return replace(self, rows=rows.astype(np.float16))

    def matrix(self, statistics: ArgumentStatistics) -> Matrix:
        """The feature matrix of the candidates."""
        example = self if self.rows is not None else self.with_rows(statistics.common)
        assert example.rows is not None  # noqa: S101  # for the type checker
        origins = [candidate.origin for candidate in self.candidates]
        return add_priors(example.rows.astype(np.float32), self.tool, self.parameter, origins, statistics)


def argument_examples(
    request: PlannedRequest, tools: Mapping[str, Tool], context: str
) -> Iterator[ArgumentExample]:
    """The arguments of the gold call that need a decision."""
    planning_input, tool = request.with_context(context), tools[request.expected.tool]
    chosen = ChosenArguments()
    for parameter in fill_order(tool):
        expected_values = request.expected.args.get(parameter.name)
        if parameter.kind in ("free", "other"):
            if not parameter.required:
                pair = free_text_candidates(planning_input, tool, parameter, chosen)
                grades = np.array([expected_values is not None, expected_values is None], np.int64)
                yield ArgumentExample(
                    request.name, request.fold, tool, parameter, planning_input, pair, grades, chosen
                )
            continue
        options = find_candidates(planning_input, parameter)
        grades = _grades(options, parameter, planning_input, expected_values)
        if len(options):
            yield ArgumentExample(
                request.name, request.fold, tool, parameter, planning_input, options, grades, chosen
            )
        right = [
            option for option, grade in zip(options, grades, strict=True) if grade and not option.is_omitted
        ]
        if right:
            chosen = add_choice(chosen, right[0])


def _grades(
    options: Sequence[Candidate],
    parameter: Parameter,
    planning_input: PlanningInput,
    expected_values: Sequence[object] | None,
) -> NDArray[np.int64]:
    if expected_values is None:
        return np.array([option.is_omitted for option in options], np.int64)
    right = normalize_value(expected_values[0], parameter, planning_input.people)
    grades = np.array(
        [
            not option.is_omitted and normalize_value(option.value, parameter, planning_input.people) == right
            for option in options
        ],
        np.int64,
    )
    if not grades.any() and options and options[-1].is_omitted:
        grades[-1] = 1  # no candidate is right: leaving it out is better than a wrong value
    return grades
