"""Planning benchmark: Table 3 of *Context Tuning for RAG*.

Context and tools of every request are found by an embedder and rankers that have not seen the persona. The
reading model and its rankers are those that ship: `trained_on.json` says what they have seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from contextune.evaluate.stats import Interval, bootstrap, paired_test
from contextune.plan.judge import PlanVerdict, judge_plan
from contextune.plan.planning_input import Planner, PlanningInput
from contextune.plan.schema import tool_parameters
from contextune.plan.values import normalize_value
from contextune.rank import Ranker
from contextune.search import tokenize
from contextune.tools.query import QueryContext
from contextune.types import Plan, Progress, Tool, ToolHit
from contextune_lab.train.planned_requests import NO_CONTEXT, ORACLE, RETRIEVED, PlannedRequest
from contextune_lab.train.rankers.tools.examples import ToolExample, without_context
from contextune_lab.train.rankers.tools.train import FeaturedExample
from contextune_lab.worlds.catalogue import ToolCatalogue

METRICS = ("AST", "exact", "hallucination")
NO_RETRIEVAL, RAG, TUNED = "no retrieval", "RAG, no context", "context-tuned"
RIGHT_TOOL, RIGHT_TOOL_WITH_CONTEXT, RIGHT_TOOL_AND_CONTEXT = (
    "right tool, no context",
    "right tool, context found",
    "right tool and context",
)
PAPER: Mapping[str, tuple[float, float, float]] = {
    NO_RETRIEVAL: (0.4377, 0.3945, 0.0259),
    RAG: (0.7639, 0.5812, 0.0176),
    TUNED: (0.8524, 0.6733, 0.0093),
    RIGHT_TOOL: (0.9147, 0.7265, 0.0085),
    RIGHT_TOOL_AND_CONTEXT: (0.9162, 0.7284, 0.0053),
}
"""The paper's published values: its own data, a language model of 7 B parameters."""
CONTEXT_BY_ROW = {
    NO_RETRIEVAL: NO_CONTEXT,
    RAG: NO_CONTEXT,
    TUNED: RETRIEVED,
    RIGHT_TOOL: NO_CONTEXT,
    RIGHT_TOOL_WITH_CONTEXT: RETRIEVED,
    RIGHT_TOOL_AND_CONTEXT: ORACLE,
}
"""The context each row plans with."""
TUNED_COT, TUNED_LARGE_COT = f"{TUNED}, CoT", f"{TUNED}, large model's CoT"
GUIDED_ROWS = {TUNED_COT: RETRIEVED, TUNED_LARGE_COT: RETRIEVED}
"""Rows of a language model only: a chain of thought in the prompt, from the dataset or a large model."""
BUDGET = "budget"
"""Chooser of the tools for prompts of several sizes; not a row of the table."""
ERRORS = ("wrong tool", "missing argument", "wrong time", "wrong person", "wrong item", "wrong field")
Floats = NDArray[np.float64]
ToolChooser = Callable[[PlannedRequest], Sequence[ToolHit]]
PlanFunction = Callable[[str, PlannedRequest, PlanningInput, Sequence[ToolHit]], Plan | None]
"""(row, request, planning input, tools) -> plan."""


@dataclass(frozen=True, eq=False)
class PlanCase:
    """One request, its plan in one row of the table, and the verdict."""

    request: PlannedRequest
    plan: Plan | None
    verdict: PlanVerdict
    error: str | None
    """Why it does not match: one of `ERRORS`."""


PlanRows = Mapping[str, Sequence[PlanCase]]


def plan_rows(
    requests: Sequence[PlannedRequest],
    choosers: Mapping[str, ToolChooser],
    plan_of: PlanFunction,
    tools: Mapping[str, Tool],
    *,
    contexts: Mapping[str, str] = CONTEXT_BY_ROW,
    progress: Progress | None = None,
) -> PlanRows:
    """Plan every request for every row of `contexts`.

    `choosers` rank the tools, by row (default: the right tool).
    """
    rows: dict[str, list[PlanCase]] = {row: [] for row in contexts}
    for number, request in enumerate(requests, 1):
        for row, context in contexts.items():
            right_tool = [ToolHit(tools[request.expected.tool], 1.0)]
            ranked = choosers[row](request) if row in choosers else right_tool
            plan = plan_of(row, request, request.with_context(context), ranked)
            verdict = judge_plan(plan, request.expected, tools, request.planning_input.people)
            rows[row].append(PlanCase(request, plan, verdict, plan_error(request, plan, verdict, tools)))
        if progress:
            progress(number, len(requests))
    return rows


def light_plans(planner: Planner) -> PlanFunction:
    """Plan with a planner that needs no language model."""
    return lambda _row, _request, planning_input, tools: planner.plan(planning_input, tools)


def renamed_plans(plan_of: PlanFunction, catalogues: Sequence[ToolCatalogue]) -> PlanFunction:
    """Plan with the same tools under other names, in one of the catalogues; the plans have the own names.

    A request always has the same catalogue.
    """
    renamed = [{catalogue.tool_id(tool.id): tool for tool in catalogue.tools} for catalogue in catalogues]

    def plan(
        row: str, request: PlannedRequest, planning_input: PlanningInput, tools: Sequence[ToolHit]
    ) -> Plan | None:
        number = crc32(request.name.encode()) % len(catalogues)
        hits = [replace(hit, tool=renamed[number][hit.tool.id]) for hit in tools]
        made = plan_of(row, request, planning_input, hits)
        if made is None:
            return None
        names = catalogues[number].originals[made.tool]
        arguments = {names.arguments.get(name, name): value for name, value in made.arguments.items()}
        own = next(hit.tool for hit in tools if hit.tool.id == names.tool)
        return replace(made, tool=own.id, name=own.name, arguments=arguments)

    return plan


def plan_error(
    request: PlannedRequest, plan: Plan | None, verdict: PlanVerdict, tools: Mapping[str, Tool]
) -> str | None:
    """The first reason why a plan does not match, or None."""
    if verdict.ast:
        return None
    if plan is None or plan.name != request.expected.tool:
        return ERRORS[0]
    required = {p.name: p for p in tool_parameters(tools[plan.name]) if p.required}
    wrong = [name for name in required if name in verdict.wrong]
    if any(name not in plan.arguments for name in wrong) or not wrong:
        return "missing argument"
    name = wrong[0]
    if required[name].kind in ("moment", "day"):
        return "wrong time"
    argument = plan.arguments[name]
    source = argument.sources[0] if argument.sources else None
    if source is None or source.kind == "contact":
        return "wrong person"
    expected_value = normalize_value(
        request.expected.args[name][0], required[name], request.planning_input.people
    )
    return "wrong field" if _contains_value(request, source.item, expected_value) else "wrong item"


def _contains_value(request: PlannedRequest, item: str | None, expected_value: object) -> bool:
    """Whether the item that was pointed at contains the right value."""
    item_fields = request.items.get(item or "")
    if item_fields is None:
        return False
    values = [str(value) for value in item_fields.fields.values()]
    people = request.planning_input.people
    return any(
        normalize_value(value, None, people) == expected_value
        or (isinstance(expected_value, str) and expected_value in value.casefold())
        for value in values
    )


def ranked_tools(
    examples: Sequence[ToolExample],
    rankers: Mapping[int, Ranker],
    tools: Mapping[str, Tool],
    *,
    context: bool,
    k: int = QueryContext.MAX_ITEMS,
) -> ToolChooser:
    """Rank tools with rankers that have not seen the request, and choose the best `k`."""
    examples_by_name = {example.name: example for example in examples}

    def choose(request: PlannedRequest) -> Sequence[ToolHit]:
        example = (
            examples_by_name[request.name] if context else without_context(examples_by_name[request.name])
        )
        featured = FeaturedExample.build(example)
        scores = rankers[example.fold].score(featured.group.matrix)
        order = np.argsort(-scores, kind="stable")[:k]
        catalog = example.index.catalog
        return [ToolHit(tools[catalog[int(featured.places[n])].name], float(scores[n])) for n in order]

    return choose


def cached_tools(choose: ToolChooser) -> ToolChooser:
    """Choose the tools of each request once, for several planners."""
    chosen: dict[str, Sequence[ToolHit]] = {}

    def lookup(request: PlannedRequest) -> Sequence[ToolHit]:
        if request.name not in chosen:
            chosen[request.name] = choose(request)
        return chosen[request.name]

    return lookup


def keyword_tools(examples: Sequence[ToolExample], tools: Mapping[str, Tool]) -> ToolChooser:
    """The tool with the best keyword match: the baseline without retrieval."""
    examples_by_name = {example.name: example for example in examples}

    def choose(request: PlannedRequest) -> Sequence[ToolHit]:
        example = examples_by_name[request.name]
        scores = example.index.fields["all"].scores(tokenize(request.planning_input.request.text))
        best = int(np.argmax(scores))
        return [ToolHit(tools[example.index.catalog[best].name], float(scores[best]))]

    return choose


@dataclass(frozen=True, slots=True)
class PlanCell:
    """Mean of one metric in one row, and its p-value against the row without context."""

    interval: Interval
    p: float | None


def scores(cases: Sequence[PlanCase]) -> dict[str, Floats]:
    """All metrics, one value per case."""
    verdicts = [case.verdict for case in cases]
    return {
        "AST": np.array([verdict.ast for verdict in verdicts], np.float64),
        "exact": np.array([verdict.exact for verdict in verdicts], np.float64),
        "hallucination": np.array([verdict.hallucinated for verdict in verdicts], np.float64),
    }


def cells(rows: PlanRows) -> dict[tuple[str, str], PlanCell]:
    """All rows and metrics, tested against the row without context."""
    cells_by_row: dict[tuple[str, str], PlanCell] = {}
    base = scores(rows[RAG])
    for row, cases in rows.items():
        groups = [case.request.group for case in cases]
        for metric, values in scores(cases).items():
            p = None if row == RAG else paired_test(values, base[metric], groups=groups)
            cells_by_row[row, metric] = PlanCell(bootstrap(values, groups=groups), p)
    return cells_by_row


def split_cases(
    cases: Sequence[PlanCase], by: Callable[[PlanCase], str]
) -> dict[str, tuple[int, float, float]]:
    """Group cases by `by`: count, AST share, exact share."""
    parts: dict[str, list[PlanCase]] = {}
    for case in cases:
        parts.setdefault(by(case), []).append(case)
    cells_by_row = {name: (len(part), scores(part)) for name, part in parts.items()}
    return {
        name: (n, float(values["AST"].mean()), float(values["exact"].mean()))
        for name, (n, values) in sorted(cells_by_row.items())
    }


def error_shares(cases: Sequence[PlanCase]) -> dict[str, float]:
    """Share of all requests lost to each error."""
    return {error: sum(case.error == error for case in cases) / len(cases) for error in ERRORS}
