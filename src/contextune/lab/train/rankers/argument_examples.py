"""Requests with the calls they were written for, as arguments to be filled: what planners learn from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from contextune.context.ranker import lists
from contextune.datasets import Persona, Query
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context import FeaturedExamples, choose_fusion
from contextune.lab.train.rankers.context_examples import ContextExample
from contextune.plan.judge import ExpectedCall
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import FREE, NOTHING, Candidate, candidates, within
from contextune.plan.pointer.features import ChosenArguments, Matrix, measure
from contextune.plan.pointer.planner import after, order_of
from contextune.plan.pointer.priors import ArgumentStatistics, FilledArgument
from contextune.plan.schema import Parameter
from contextune.plan.values import normal
from contextune.types import Item, ItemHit, Tool

Floats = NDArray[np.float64]
FOUND, ORACLE, ALONE = "found", "oracle", "alone"


@dataclass(frozen=True, eq=False)
class PlannedRequest:
    """One request of a persona with its right call, and what was found for it by what had not seen it."""

    name: str
    group: str
    """The persona."""
    fold: int
    kind: str
    measured: bool
    situation: PlanningInput
    expected: ExpectedCall
    right: Mapping[str, int]
    """The items it was written about, with their grades."""
    items: Mapping[str, Item]
    """All items of the persona."""

    def seeing(self, what: str) -> PlanningInput:
        """The situation with the context found, with the right one, or without any."""
        if what == FOUND:
            return self.situation
        if what == ALONE:
            return replace(self.situation, hits=())
        return replace(self.situation, hits=self._right_hits())

    def _right_hits(self) -> list[ItemHit]:
        order = sorted(self.right.items(), key=lambda pair: -pair[1])
        return [ItemHit(self.items[name], float(grade)) for name, grade in order]


def fused(data: FeaturedExamples, scores: Sequence[Floats]) -> list[Floats]:
    """Scores as requests see them in use, after fusion, with weights chosen on the other folds."""
    found: list[Floats] = [np.empty(0)] * len(scores)
    for fold in sorted({example.fold for example in data.examples}):
        rest = [n for n, example in enumerate(data.examples) if example.fold != fold]
        others = data.part(lambda example, fold=fold: example.fold != fold)
        weights = choose_fusion(others, [scores[n] for n in rest])
        for n, example in enumerate(data.examples):
            if example.fold == fold:
                found[n] = weights.fuse(lists(example.scene, scores[n]))
    return found


def from_personas(
    folds: FoldVectors, examples: Sequence[ContextExample], scores: Sequence[Floats]
) -> list[PlannedRequest]:
    """The personas' requests with their items in the order of scores by what had not seen the persona."""
    known = {example.name: (example, score) for example, score in zip(examples, scores, strict=True)}
    found: list[PlannedRequest] = []
    for persona in folds.everybody:
        for query in persona.queries:
            example, score = known[persona.name(query)]
            order = np.argsort(-score, kind="stable")
            items = example.scene.items
            hits = [ItemHit(items[n], float(score[n])) for n in map(int, order)]
            found.append(asked(persona, query, hits, example.fold, measured=example.measured))
    return found


def asked(
    persona: Persona, query: Query, hits: Sequence[ItemHit], fold: int, *, measured: bool
) -> PlannedRequest:
    """A persona's request; `hits` are its items in the order they were found in."""
    gold = query.gold
    return PlannedRequest(
        persona.name(query),
        persona.id,
        fold,
        gold.kind or "unknown",
        measured,
        PlanningInput(persona.request(query), persona.user, hits),
        ExpectedCall.one(gold.api or "", gold.args or {}),
        gold.relevant or {},
        {item.id: item for item in persona.items},
    )


@dataclass(frozen=True, eq=False)
class ArgumentExample:
    """One argument of a right call: what it may be filled with, and which of that is right."""

    name: str
    fold: int
    tool: Tool
    parameter: Parameter
    situation: PlanningInput
    found: Sequence[Candidate]
    grades: NDArray[np.int64]
    chosen: ChosenArguments

    @property
    def filled(self) -> FilledArgument:
        """As priors count it."""
        origins = {one.origin for one, grade in zip(self.found, self.grades, strict=True) if grade}
        return FilledArgument(self.tool.name, self.parameter.name, frozenset(origins))

    def narrowed(self, known: ArgumentStatistics) -> "ArgumentExample":
        """With those candidates alone that the argument has in use, where it is known."""
        seen = known.priors.seen(self.tool, self.parameter) if self.parameter.kind == "text" else None
        kept = [n for n, one in enumerate(self.found) if within(one.origin, seen)]
        if len(kept) == len(self.found) or not any(not self.found[n].left_out for n in kept):
            return self
        return replace(self, found=[self.found[n] for n in kept], grades=self.grades[kept])

    def matrix(self, known: ArgumentStatistics) -> Matrix:
        """Its features."""
        return measure(self.situation, self.tool, self.parameter, self.found, known, self.chosen)


def to_fill(one: PlannedRequest, tools: Mapping[str, Tool], what: str) -> Iterator[ArgumentExample]:
    """The arguments of the right call that something has to be decided on."""
    situation, tool = one.seeing(what), tools[one.expected.api]
    chosen = ChosenArguments()
    for parameter in order_of(tool):
        wanted = one.expected.args.get(parameter.name)
        if parameter.kind in ("free", "other"):
            if not parameter.required:
                pair = [Candidate("", FREE), Candidate(None, NOTHING)]
                grades = np.array([wanted is not None, wanted is None], np.int64)
                yield ArgumentExample(one.name, one.fold, tool, parameter, situation, pair, grades, chosen)
            continue
        found = candidates(situation, parameter)
        grades = _grades(found, parameter, situation, wanted)
        if len(found):
            yield ArgumentExample(one.name, one.fold, tool, parameter, situation, found, grades, chosen)
        right = [one for one, grade in zip(found, grades, strict=True) if grade and not one.left_out]
        if right:
            chosen = after(chosen, right[0])


def _grades(
    found: Sequence[Candidate],
    parameter: Parameter,
    situation: PlanningInput,
    wanted: Sequence[object] | None,
) -> NDArray[np.int64]:
    if wanted is None:
        return np.array([one.left_out for one in found], np.int64)
    right = normal(wanted[0], parameter, situation.people)
    grades = np.array(
        [not one.left_out and normal(one.value, parameter, situation.people) == right for one in found],
        np.int64,
    )
    if not grades.any() and found and found[-1].left_out:
        grades[-1] = 1  # better left out than wrong
    return grades
