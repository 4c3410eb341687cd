"""Training examples for argument filling: requests with their gold calls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from contextune.context.ranker import fusion_lists
from contextune.datasets import Persona, Query
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context import FeaturedExamples, choose_fusion
from contextune.lab.train.rankers.context_examples import ContextExample
from contextune.plan.judge import ExpectedCall
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import FREE_TEXT, OMITTED, Candidate, find_candidates, origin_allowed
from contextune.plan.pointer.features import ChosenArguments, Matrix, argument_features
from contextune.plan.pointer.planner import add_choice, fill_order
from contextune.plan.pointer.priors import ArgumentStatistics, FilledArgument
from contextune.plan.schema import Parameter
from contextune.plan.values import normalize_value
from contextune.types import Item, ItemHit, Tool

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
            order = np.argsort(-score, kind="stable")
            items = example.scene.items
            hits = [ItemHit(items[n], float(score[n])) for n in map(int, order)]
            requests.append(planned_request(persona, query, hits, example.fold, measured=example.measured))
    return requests


def planned_request(
    persona: Persona, query: Query, hits: Sequence[ItemHit], fold: int, *, measured: bool
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

    @property
    def filled(self) -> FilledArgument:
        """The argument as the priors count it."""
        origins = {
            candidate.origin for candidate, grade in zip(self.candidates, self.grades, strict=True) if grade
        }
        return FilledArgument(self.tool.name, self.parameter.name, frozenset(origins))

    def restricted(self, statistics: ArgumentStatistics) -> "ArgumentExample":
        """Keep only candidates of origins the argument has had before, as the planner does."""
        seen = (
            statistics.priors.known_origins(self.tool, self.parameter)
            if self.parameter.kind == "text"
            else None
        )
        kept = [n for n, candidate in enumerate(self.candidates) if origin_allowed(candidate.origin, seen)]
        if len(kept) == len(self.candidates) or not any(not self.candidates[n].is_omitted for n in kept):
            return self
        return replace(self, candidates=[self.candidates[n] for n in kept], grades=self.grades[kept])

    def matrix(self, statistics: ArgumentStatistics) -> Matrix:
        """The feature matrix of the candidates."""
        return argument_features(
            self.planning_input, self.tool, self.parameter, self.candidates, statistics, self.chosen
        )


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
                pair = [Candidate("", FREE_TEXT), Candidate(None, OMITTED)]
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
