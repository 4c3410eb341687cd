"""The light planner: no language model. Every argument points at something that stands somewhere.

The tool is the one found; for each argument candidates are gathered from the items, the address book and
what is said, and a learned scorer picks one. Free text is put together by a pattern. What has no good
candidate is asked for. So a plan cannot call what is not there, nor give what the tool does not take.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import FREE, NOTHING, Candidate, candidates
from contextune.plan.pointer.features import ChosenArguments, measure
from contextune.plan.pointer.free_text import compose, question
from contextune.plan.pointer.scorer import ArgumentScorer, default_scorer
from contextune.plan.schema import Parameter, faults, parameters
from contextune.plan.values import text_form
from contextune.types import Argument, Item, Missing, Plan, Tool, ToolHit

ASK = 0.1
"""A required argument whose best value is less probable than this is asked for."""


@dataclass(frozen=True)
class PointerPlanner:
    """Plans calls. Safe to share between threads."""

    scorer: ArgumentScorer | None = None
    """Stands in for the one in the package."""
    ask: float = ASK

    @cached_property
    def _scorer(self) -> ArgumentScorer:
        return self.scorer or default_scorer()

    def plan(
        self, situation: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Plan | None:
        """The call to make with the first of the tools; `fits` is how probable it is that any serves."""
        if not tools:
            return None
        sure = _share(tools) * (1.0 if fits is None else fits)
        return self.call(situation, tools[0].tool, sure)

    def call(self, situation: PlanningInput, tool: Tool, sure: float = 1.0) -> Plan | None:
        """The call of one tool, or None if none fits its schema; `sure` is how probable it is to be right."""
        draft = _PlanDraft(situation, tool)
        for parameter in order_of(tool):
            self._fill(draft, parameter)
        plan = draft.plan(sure)
        if not faults(plan, tool):
            return plan
        # what a schema says of arguments together, candidates one by one cannot know
        plain = draft.plan(sure, optional=False)
        return None if faults(plain, tool) else plain

    def _fill(self, draft: "_PlanDraft", parameter: Parameter) -> None:
        situation, tool = draft.situation, draft.tool
        if parameter.kind in ("free", "other"):
            self._word(draft, parameter)
            return
        known = self._scorer.known
        found = candidates(situation, parameter, known.priors.seen(tool, parameter))
        if not found:
            draft.ask(parameter)
            return
        matrix = measure(situation, tool, parameter, found, known, draft.chosen)
        best, sure = self._scorer.choose(found, matrix)
        one = found[best]
        if one.left_out:
            return
        if sure < self.ask:
            draft.ask(parameter)
            return
        draft.take(parameter, one, sure)

    def _word(self, draft: "_PlanDraft", parameter: Parameter) -> None:
        """Free text; where the call can do without it, only where such calls mostly have it."""
        situation, tool = draft.situation, draft.tool
        if not parameter.required:
            pair = [Candidate("", FREE), Candidate(None, NOTHING)]
            matrix = measure(situation, tool, parameter, pair, self._scorer.known, draft.chosen)
            best, _ = self._scorer.choose(pair, matrix)
            if pair[best].left_out:
                return
        text = compose(situation, tool, parameter, draft.about) if parameter.kind == "free" else None
        if text is None:
            draft.ask(parameter)
        else:
            draft.filled[parameter.name] = text


@dataclass
class _PlanDraft:
    """A plan in the making."""

    situation: PlanningInput
    tool: Tool
    filled: dict[str, Argument] = field(default_factory=dict[str, Argument])
    missing: list[Missing] = field(default_factory=list[Missing])
    chosen: ChosenArguments = field(default_factory=ChosenArguments)

    @property
    def about(self) -> Item | None:
        """The item that the call is about: one that a value comes from, else the first there is."""
        items = self.situation.items
        return items[min(self.chosen.items, default=0)] if items else None

    def plan(self, sure: float, *, optional: bool = True) -> Plan:
        """As it stands; the arguments in the order of the schema."""
        wanted = [p.name for p in parameters(self.tool) if p.required or optional]
        given = {name: self.filled[name] for name in wanted if name in self.filled}
        confidence = sure * float(np.prod([one.confidence for one in given.values()]))
        return Plan(self.tool.id, given, confidence, tuple(self.missing), self.tool.name)

    def take(self, parameter: Parameter, one: Candidate, sure: float) -> None:
        self.filled[parameter.name] = Argument(one.value, one.sources, sure)
        self.chosen = after(self.chosen, one)

    def ask(self, parameter: Parameter) -> None:
        if parameter.required:
            self.missing.append(Missing(parameter.name, question(parameter)))


def order_of(tool: Tool) -> list[Parameter]:
    """Arguments in the order they are filled: pointed at before worded, needed before optional."""
    return sorted(parameters(tool), key=lambda one: (one.kind in ("free", "other"), not one.required))


def after(chosen: ChosenArguments, one: Candidate) -> ChosenArguments:
    """What later arguments see of one that is filled."""
    items = chosen.items if one.item is None else chosen.items | {one.item}
    return ChosenArguments(items, chosen.values | {text_form(str(one.value))})


def _share(tools: Sequence[ToolHit]) -> float:
    """How much the first tool is ahead of the others, as a probability."""
    scores = np.array([hit.score for hit in tools], np.float64)
    powers = np.exp(scores - scores[0])
    return float(1 / powers.sum())
