"""`PointerPlanner`: fills arguments with values from the user's data, without a language model.

The best tool is called. For each argument, candidates are collected from the items, the contacts and the
request, and a learned scorer chooses one. Free text is composed from templates. A required argument without a
good candidate becomes a clarifying question. So a plan never has an unknown tool, argument or invented value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import FREE_TEXT, OMITTED, Candidate, find_candidates
from contextune.plan.pointer.features import ChosenArguments, argument_features
from contextune.plan.pointer.free_text import clarifying_question, compose_text
from contextune.plan.pointer.scorer import ArgumentScorer, default_scorer
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
        draft = _PlanDraft(inputs, tool)
        for parameter in fill_order(tool):
            self._fill(draft, parameter)
        plan = draft.plan(confidence)
        if not plan_errors(plan, tool):
            return plan
        # optional arguments may break a rule on combinations of arguments
        minimal = draft.plan(confidence, optional=False)
        return None if plan_errors(minimal, tool) else minimal

    def _fill(self, draft: "_PlanDraft", parameter: Parameter) -> None:
        inputs, tool = draft.inputs, draft.tool
        if parameter.kind in ("free", "other"):
            self._fill_free_text(draft, parameter)
            return
        statistics = self._scorer.statistics
        candidates = find_candidates(inputs, parameter, statistics.priors.known_origins(tool, parameter))
        if not candidates:
            draft.ask(parameter)
            return
        matrix = argument_features(inputs, tool, parameter, candidates, statistics, draft.chosen)
        best, confidence = self._scorer.choose(candidates, matrix)
        if candidates[best].is_omitted:
            return
        if confidence < self.ask_below:
            draft.ask(parameter)
            return
        draft.fill(parameter, candidates[best], confidence)

    def _fill_free_text(self, draft: "_PlanDraft", parameter: Parameter) -> None:
        """Compose a free text; an optional one only if such calls mostly have it."""
        inputs, tool = draft.inputs, draft.tool
        if not parameter.required:
            pair = [Candidate("", FREE_TEXT), Candidate(None, OMITTED)]
            matrix = argument_features(inputs, tool, parameter, pair, self._scorer.statistics, draft.chosen)
            best, _ = self._scorer.choose(pair, matrix)
            if pair[best].is_omitted:
                return
        text = compose_text(inputs, tool, parameter, draft.main_item) if parameter.kind == "free" else None
        if text is None:
            draft.ask(parameter)
        else:
            draft.arguments[parameter.name] = text


@dataclass
class _PlanDraft:
    """A plan under construction."""

    inputs: PlanningInput
    tool: Tool
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
        self.arguments[parameter.name] = Argument(candidate.value, candidate.sources, confidence)
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


def add_choice(chosen: ChosenArguments, candidate: Candidate) -> ChosenArguments:
    """Add a filled argument to what the features of later arguments see."""
    items = chosen.items if candidate.item is None else chosen.items | {candidate.item}
    return ChosenArguments(items, chosen.values | {normalize_text(str(candidate.value))})


def _first_tool_share(tools: Sequence[ToolHit]) -> float:
    """The softmax probability of the first tool."""
    scores = np.array([hit.score for hit in tools], np.float64)
    powers = np.exp(scores - scores[0])
    return float(1 / powers.sum())
