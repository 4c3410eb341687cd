"""`PointerPlanner`: fills arguments with values from the user's data, without a language model.

The best tool is called. For each argument, candidates are collected from the items, the contacts and the
request, and a learned scorer chooses one. Free text is composed from templates. A required argument without a
good candidate becomes a clarifying question. So a plan never has an unknown tool, argument or invented value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.references import asks_for_person, referred
from contextune.plan.pointer.scoring.features import ChosenArguments, Matrix, argument_features
from contextune.plan.pointer.scoring.scorer import ArgumentScorer, default_scorer
from contextune.plan.pointer.text.free_text import clarifying_question, compose_text, dictated_text
from contextune.plan.pointer.times.new_times import new_times
from contextune.plan.pointer.values.candidate import FREE_TEXT, OMITTED, Candidate
from contextune.plan.pointer.values.candidates import find_candidates, person_value
from contextune.plan.schema import Parameter, plan_errors, tool_parameters
from contextune.plan.values import normalize_text
from contextune.types import Argument, Item, Missing, Plan, Tool, ToolHit

ASK_BELOW = 0.1
"""Below this confidence in the best value, the user is asked for a required argument."""


@dataclass(frozen=True)
class PointerPlanner:
    """Plans calls with a learned scorer. Thread-safe."""

    scorer: ArgumentScorer | None = None
    """The bundled one by default."""
    ask_below: float = ASK_BELOW

    @cached_property
    def _scorer(self) -> ArgumentScorer:
        return self.scorer or default_scorer()

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        """Plan a call of the first tool; `fits` is the probability that any tool can serve the request."""
        if not tools:
            return None
        confidence = _first_tool_share(tools) * (1.0 if fits is None else fits)
        return self.plan_tool(inputs, tools[0].tool, confidence)

    def plan_tool(self, inputs: PlanningInput, tool: Tool, confidence: float = 1.0) -> Plan | None:
        """Plan a call of a tool, or None if its schema cannot be met; `confidence` is that in the tool."""
        filled = self.fill_tool(inputs, tool, confidence)
        return filled.plan if filled else None

    def fill_tool(self, inputs: PlanningInput, tool: Tool, confidence: float = 1.0) -> "FilledCall | None":
        """Like `plan_tool`, with the candidates of each argument."""
        return self._complete(_PlanDraft(inputs, tool), confidence)

    def fill_variant(
        self, inputs: PlanningInput, filled: "FilledCall", argument: str, index: int
    ) -> "FilledCall | None":
        """The same call with another candidate for one argument, and those after it chosen accordingly."""
        before: dict[str, ArgumentChoice] = {}
        for choice in filled.choices:
            before[choice.parameter.name] = choice
            if choice.parameter.name == argument:
                break
        return self._complete(_PlanDraft(inputs, filled.tool, before, {argument: index}), 1.0)

    def _complete(self, draft: "_PlanDraft", confidence: float) -> "FilledCall | None":
        tool = draft.tool
        for parameter in fill_order(tool):
            self._fill(draft, parameter)
        plan = draft.plan(confidence)
        if plan_errors(plan, tool):
            # optional arguments may break a rule on combinations of arguments
            plan = draft.plan(confidence, optional=False)
            if plan_errors(plan, tool):
                return None
        return FilledCall(tool, plan, tuple(draft.choices), draft.chosen.items)

    def _fill(self, draft: "_PlanDraft", parameter: Parameter) -> None:
        inputs, tool = draft.inputs, draft.tool
        if parameter.kind in ("free", "other"):
            self._fill_free_text(draft, parameter)
            return
        statistics = self._scorer.statistics
        if (known := draft.scored.get(parameter.name)) is not None:
            candidates, matrix, scores = known.candidates, known.matrix, known.scores
        else:
            origins = statistics.priors.known_origins(tool, parameter)
            if asks_for_person(parameter, inputs):
                return
            candidates = referred(find_candidates(inputs, parameter, origins), tool, inputs, parameter)
            candidates = new_times(candidates, tool, parameter, inputs, draft.chosen.items)
            if not candidates:
                draft.ask(parameter)
                return
            matrix = argument_features(inputs, tool, parameter, candidates, statistics, draft.chosen)
            scores = self._scorer.ranker.score(matrix)
        best = draft.forced.get(parameter.name, int(np.argmax(scores)))
        confidence = self._scorer.probability(candidates, matrix, scores, best)
        draft.choices.append(ArgumentChoice(parameter, candidates, matrix, scores, best, confidence))
        if candidates[best].is_omitted:
            return
        is_said = parameter.kind == "moment" and not any(candidate.is_omitted for candidate in candidates)
        is_forced = parameter.name in draft.forced or (is_said and not parameter.required)
        if confidence < self.ask_below and not is_forced:
            draft.ask(parameter)
            return
        draft.fill(parameter, candidates[best], confidence)

    def _fill_free_text(self, draft: "_PlanDraft", parameter: Parameter) -> None:
        """Compose a free text; an optional one if the request dictates it or most such calls have it."""
        inputs, tool = draft.inputs, draft.tool
        if not parameter.required:
            pair = free_text_candidates(inputs, tool, parameter, draft.chosen)
            matrix = argument_features(inputs, tool, parameter, pair, self._scorer.statistics, draft.chosen)
            best, _ = self._scorer.choose(pair, matrix)
            if pair[best].is_omitted and not pair[0].value:
                return
        text = None
        if parameter.kind == "free":
            text = compose_text(inputs, tool, parameter, draft.main_item, draft.chosen.values)
        if text is None:
            draft.ask(parameter)
        else:
            draft.arguments[parameter.name] = text


@dataclass(frozen=True, eq=False)
class ArgumentChoice:
    """An argument with its candidates, their scores, and the one that was chosen."""

    parameter: Parameter
    candidates: Sequence[Candidate]
    matrix: Matrix
    scores: NDArray[np.float64]
    index: int
    """Of the chosen candidate."""
    confidence: float

    @property
    def chosen(self) -> Candidate:
        """The chosen candidate."""
        return self.candidates[self.index]


@dataclass(frozen=True, eq=False)
class FilledCall:
    """A call of a tool, and how its arguments were chosen."""

    tool: Tool
    plan: Plan
    choices: tuple[ArgumentChoice, ...]
    """Of the arguments that were chosen among candidates, in the order of filling."""
    items: frozenset[int]
    """The indexes of the items that values come from."""


@dataclass
class _PlanDraft:
    """A plan under construction."""

    inputs: PlanningInput
    tool: Tool
    scored: Mapping[str, ArgumentChoice] = field(default_factory=dict[str, ArgumentChoice])
    """Arguments whose candidates are already scored."""
    forced: Mapping[str, int] = field(default_factory=dict[str, int])
    """Candidates to take in place of the best ones, by argument."""
    choices: list[ArgumentChoice] = field(default_factory=list[ArgumentChoice])
    arguments: dict[str, Argument] = field(default_factory=dict[str, Argument])
    missing: list[Missing] = field(default_factory=list[Missing])
    chosen: ChosenArguments = field(default_factory=ChosenArguments)

    @property
    def main_item(self) -> Item | None:
        """The item that the call is about: the best one that a value comes from, else the first."""
        items = self.inputs.items
        return items[min(self.chosen.items, default=0)] if items else None

    def plan(self, confidence: float, *, optional: bool = True) -> Plan:
        """The plan so far, with the arguments in the order of the schema."""
        names = [p.name for p in tool_parameters(self.tool) if p.required or optional]
        arguments = {name: self.arguments[name] for name in names if name in self.arguments}
        confidence *= float(np.prod([argument.confidence for argument in arguments.values()]))
        return Plan(self.tool.id, arguments, confidence, tuple(self.missing), self.tool.name)

    def fill(self, parameter: Parameter, candidate: Candidate, confidence: float) -> None:
        value = person_value(candidate.value, parameter, self.inputs)
        self.arguments[parameter.name] = Argument(value, candidate.sources, confidence)
        self.chosen = add_choice(self.chosen, candidate)

    def ask(self, parameter: Parameter) -> None:
        if parameter.required:
            self.missing.append(Missing(parameter.name, clarifying_question(parameter)))


def fill_order(tool: Tool) -> list[Parameter]:
    """The order in which arguments are filled: free text last, required before optional."""
    return sorted(
        tool_parameters(tool),
        key=lambda parameter: (parameter.kind in ("free", "other"), not parameter.required),
    )


def free_text_candidates(
    inputs: PlanningInput, tool: Tool, parameter: Parameter, chosen: ChosenArguments
) -> list[Candidate]:
    """An optional free text, as the request dictates it (empty if it does not), and its omission."""
    text = dictated_text(inputs, tool, parameter, chosen.values) if parameter.kind == "free" else None
    return [Candidate(text or "", FREE_TEXT), Candidate(None, OMITTED)]


def add_choice(chosen: ChosenArguments, candidate: Candidate) -> ChosenArguments:
    """Add a filled argument to what the features of later arguments see."""
    items = chosen.items if candidate.item is None else chosen.items | {candidate.item}
    return ChosenArguments(items, chosen.values | {normalize_text(str(candidate.value))})


def _first_tool_share(tools: Sequence[ToolHit]) -> float:
    """The softmax probability of the first tool."""
    scores = np.array([hit.score for hit in tools], np.float64)
    powers = np.exp(scores - scores[0])
    return float(1 / powers.sum())
