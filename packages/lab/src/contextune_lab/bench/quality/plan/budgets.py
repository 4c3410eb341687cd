"""Plans of any language model at several retrieval budgets: prompts out, recorded answers in.

How much a model gains from what is retrieved depends on how much of it the prompt holds. Prompts with the
best 3, 5 and 10 items and 4 and 8 tools, found by models that have not seen the persona, are written to a
file. Whoever has a model answers them, and the answers are measured with the same grounding and the same
policy as in the planner.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.context.packing import estimate_tokens
from contextune.evaluate.stats import Interval, bootstrap
from contextune.llm import Message
from contextune.plan import LanguagePlanner, Planner, PlanningInput, Policy
from contextune.plan.judge import PlanVerdict, judge_plan
from contextune.plan.language_model.planner import TRUST
from contextune.plan.language_model.prompt import plan_messages
from contextune.types import Progress, Tool, ToolHit
from contextune_lab.bench.quality.plan.persona_plans import ToolChooser
from contextune_lab.bench.quality.plan.written_plans import (
    RecordedAnswer,
    RecordedChat,
    WrittenAnswers,
    unchecked_plan,
)
from contextune_lab.train.planned_requests import PlannedRequest

TOKENS_PER_ITEM = 120
"""Estimated tokens that each item may take on average: most fit whole, long ones are shortened."""


@dataclass(frozen=True, slots=True)
class PlanBudget:
    """How many items and tools a prompt holds."""

    items: int
    tools: int

    @property
    def row(self) -> str:
        """The name of its row, in prompts, answers and tables."""
        return f"{self.items} items, {self.tools} tools"

    def inputs(self, request: PlannedRequest) -> PlanningInput:
        """What a planner reads at this budget."""
        found = request.planning_input
        return replace(found, hits=found.hits[: self.items], max_items=self.items)

    def messages(self, request: PlannedRequest, tools: Sequence[ToolHit]) -> list[Message]:
        """The prompt of a request; `tools` are its best ones."""
        offered = [hit.tool for hit in tools[: self.tools]]
        return plan_messages(self.inputs(request), offered, budget=TOKENS_PER_ITEM * self.items)


BUDGETS = tuple(PlanBudget(items, tools) for items in (3, 5, 10) for tools in (4, 8))
MAX_TOOLS = max(budget.tools for budget in BUDGETS)


@dataclass(frozen=True, slots=True)
class OutsideResult:
    """What somebody else measured with a model that is not at hand here, in percent."""

    model: str
    budget: PlanBudget
    ast: float
    exact: float


MEASURED_OUTSIDE = (OutsideResult("a large language model", PlanBudget(10, 8), 93.2, 85.7),)
"""On implicit requests of personas that are not in this repository, with prompts of about 600 tokens."""


def prompt_rows(requests: Sequence[PlannedRequest], choose: ToolChooser) -> Iterator[dict[str, Any]]:
    """One prompt per request and budget; gold calls are not in it."""
    for request in requests:
        hits = choose(request)
        for budget in BUDGETS:
            messages = budget.messages(request, hits)
            yield {
                "name": request.name,
                "row": budget.row,
                "tools": [hit.tool.name for hit in hits[: budget.tools]],
                "messages": [{"role": message.role, "content": message.content} for message in messages],
            }


def write_prompts(
    file: Path, requests: Sequence[PlannedRequest], choose: ToolChooser, progress: Progress | None = None
) -> int:
    """Write the prompts as JSON lines; returns their number."""
    total = len(requests) * len(BUDGETS)
    with file.open("w", encoding="utf-8") as stream:
        for number, row in enumerate(prompt_rows(requests, choose), 1):
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            if progress:
                progress(number, total)
    return total


@dataclass(frozen=True, slots=True)
class BudgetCase:
    """The answer to one prompt: the verdicts on the checked plan and on the raw answer, and the decision."""

    request: PlannedRequest
    verdict: PlanVerdict
    raw: PlanVerdict
    acted: bool
    """Whether the policy makes the call without asking."""
    tokens: int
    """Estimated length of the prompt."""


BudgetCases = Mapping[PlanBudget, Sequence[BudgetCase]]


def answered_budgets(answers: WrittenAnswers) -> list[PlanBudget]:
    """The budgets that a file of answers has."""
    rows = {row for _, row in answers}
    return [budget for budget in BUDGETS if budget.row in rows]


@dataclass(frozen=True)
class BudgetBench:
    """Measures recorded answers; `fallback` plans invalid calls, `tools` are all tools by name."""

    answers: WrittenAnswers
    choose: ToolChooser
    fallback: Planner
    tools: Mapping[str, Tool]
    policy: Policy
    trust: float = TRUST

    def run(self, requests: Sequence[PlannedRequest], progress: Progress | None = None) -> BudgetCases:
        """The cases of each budget that has answers; requests without a current answer are left out."""
        budgets = answered_budgets(self.answers)
        cases: dict[PlanBudget, list[BudgetCase]] = {budget: [] for budget in budgets}
        for number, request in enumerate(requests, 1):
            for budget in budgets:
                hits = self.choose(request)[: budget.tools]
                answer = self.answers.get((request.name, budget.row))
                names = [hit.tool.name for hit in hits]
                if answer is not None and not answer.is_stale(names, self.tools):
                    cases[budget].append(self._case(request, budget, hits, answer))
            if progress:
                progress(number, len(requests))
        return cases

    def _case(
        self, request: PlannedRequest, budget: PlanBudget, hits: Sequence[ToolHit], answer: RecordedAnswer
    ) -> BudgetCase:
        inputs, people = budget.inputs(request), request.planning_input.people
        planner = LanguagePlanner(
            RecordedChat(answer.text),
            self.fallback,
            tools=budget.tools,
            trust=self.trust,
            feed=None,
        )
        by_id = {hit.tool.id: hit.tool for hit in hits}
        plan = self.policy.decide(planner.readings(inputs, hits), by_id.__getitem__)
        raw = unchecked_plan(answer.text)
        tokens = sum(estimate_tokens(message.content) for message in budget.messages(request, hits))
        return BudgetCase(
            request,
            judge_plan(plan, request.expected, self.tools, people),
            judge_plan(raw, request.expected, self.tools, people),
            plan is not None and plan.ready,
            tokens,
        )


@dataclass(frozen=True, slots=True)
class BudgetFigures:
    """The figures of one budget, as shares."""

    ast: Interval
    exact: Interval
    hallucinated: float
    """Of the raw answers; checked plans have none."""
    raw_ast: float
    acted: float
    """Share of all requests that the policy acts on without asking."""
    acted_wrongly: float
    """Share of all requests that it acts on wrongly."""
    tokens: float
    """Mean length of the prompt, estimated on the high side."""
    requests: int


def figures(cases: Sequence[BudgetCase]) -> BudgetFigures:
    """Summarise the cases of a budget, with intervals over personas."""
    groups = [case.request.group for case in cases]
    return BudgetFigures(
        bootstrap(_floats([case.verdict.ast for case in cases]), groups=groups),
        bootstrap(_floats([case.verdict.exact for case in cases]), groups=groups),
        _mean([case.raw.hallucinated for case in cases]),
        _mean([case.raw.ast for case in cases]),
        _mean([case.acted for case in cases]),
        _mean([case.acted and not case.verdict.ast for case in cases]),
        _mean([case.tokens for case in cases]),
        len(cases),
    )


def _floats(values: Sequence[float]) -> NDArray[np.float64]:
    return np.array(values, np.float64)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
