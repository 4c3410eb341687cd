"""Table 3 of *Context Tuning for RAG*: plans with and without retrieval, context, and the right of both.

Every request of every persona is planned by an embedder, a ranker of context, a ranker of tools and a
scorer of arguments none of which has seen the persona.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.evaluate.stats import Interval, bootstrap, paired_test
from contextune.lab.train.rankers.argument_examples import ALONE, FOUND, ORACLE, PlannedRequest
from contextune.lab.train.rankers.tool_examples import ToolExample, without_context
from contextune.lab.train.rankers.tools import FeaturedExample
from contextune.plan.judge import PlanVerdict, judge
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import PointerPlanner
from contextune.plan.schema import parameters
from contextune.plan.values import normal
from contextune.rank import Ranker
from contextune.search import tokenize
from contextune.tools.query import QueryContext
from contextune.types import Plan, Progress, Tool, ToolHit

METRICS = ("AST", "exact", "hallucination")
NOTHING, RAG, TUNED = "no retrieval", "RAG, no context", "context-tuned"
TOOLS, FOUND_CONTEXT, BOTH = "right tool, no context", "right tool, context found", "right tool and context"
PAPER: Mapping[str, tuple[float, float, float]] = {
    NOTHING: (0.4377, 0.3945, 0.0259),
    RAG: (0.7639, 0.5812, 0.0176),
    TUNED: (0.8524, 0.6733, 0.0093),
    TOOLS: (0.9147, 0.7265, 0.0085),
    BOTH: (0.9162, 0.7284, 0.0053),
}
"""What the paper printed, on its own data and with a language model of 7 B parameters."""
SEEN = {NOTHING: ALONE, RAG: ALONE, TUNED: FOUND, TOOLS: ALONE, FOUND_CONTEXT: FOUND, BOTH: ORACLE}
"""What context each row has."""
ERRORS = ("wrong tool", "missing argument", "wrong time", "wrong person", "wrong item", "wrong field")
Floats = NDArray[np.float64]
Choose = Callable[[PlannedRequest], Sequence[ToolHit]]
PlanOf = Callable[[str, PlannedRequest, PlanningInput, Sequence[ToolHit]], Plan | None]
"""Plans a request for a row, with what is seen and the tools there are."""


@dataclass(frozen=True, eq=False)
class PlanCase:
    """One request, the plan made for it in one row of the table, and how it did."""

    asked: PlannedRequest
    plan: Plan | None
    verdict: PlanVerdict
    error: str | None
    """What kept it from matching, one of `ERRORS`."""


Rows = Mapping[str, Sequence[PlanCase]]


def plan_rows(
    requests: Sequence[PlannedRequest],
    chosen: Mapping[str, Choose],
    plan_of: PlanOf,
    tools: Mapping[str, Tool],
    *,
    progress: Progress | None = None,
) -> Rows:
    """The plans of every row; `chosen` ranks tools for the rows that need them, by row."""
    rows: dict[str, list[PlanCase]] = {row: [] for row in SEEN}
    for number, one in enumerate(requests, 1):
        for row, what in SEEN.items():
            right = [ToolHit(tools[one.expected.api], 1.0)]
            ranked = chosen[row](one) if row in chosen else right
            plan = plan_of(row, one, one.seeing(what), ranked)
            verdict = judge(plan, one.expected, tools, one.situation.people)
            rows[row].append(PlanCase(one, plan, verdict, error_of(one, plan, verdict, tools)))
        if progress:
            progress(number, len(requests))
    return rows


def light(planners: Mapping[int, PointerPlanner]) -> PlanOf:
    """Plans by the light planner that has not seen the request's fold."""
    return lambda _, one, seen, tools: planners[one.fold].plan(seen, tools)


def error_of(
    one: PlannedRequest, plan: Plan | None, verdict: PlanVerdict, tools: Mapping[str, Tool]
) -> str | None:
    """Why a plan does not match: the first thing that went wrong."""
    if verdict.ast:
        return None
    if plan is None or plan.name != one.expected.api:
        return ERRORS[0]
    required = {p.name: p for p in parameters(tools[plan.name]) if p.required}
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
    wanted = normal(one.expected.args[name][0], required[name], one.situation.people)
    return "wrong field" if _holds(one, source.item, wanted) else "wrong item"


def _holds(one: PlannedRequest, item: str | None, wanted: object) -> bool:
    """Whether the right value stands somewhere in the item that was pointed at."""
    held = one.items.get(item or "")
    if held is None:
        return False
    values = [str(value) for value in held.fields.values()]
    people = one.situation.people
    return any(
        normal(value, None, people) == wanted or (isinstance(wanted, str) and wanted in value.casefold())
        for value in values
    )


def ranked_tools(
    examples: Sequence[ToolExample],
    rankers: Mapping[int, Ranker],
    tools: Mapping[str, Tool],
    *,
    context: bool,
) -> Choose:
    """Tools as rankers put them that have not seen the request."""
    known = {example.name: example for example in examples}

    def choose(one: PlannedRequest) -> Sequence[ToolHit]:
        example = known[one.name] if context else without_context(known[one.name])
        shown = FeaturedExample.of(example)
        scores = rankers[example.fold].score(shown.group.matrix)
        order = np.argsort(-scores, kind="stable")[: QueryContext.MOST]
        catalog = example.index.catalog
        return [ToolHit(tools[catalog[int(shown.places[n])].name], float(scores[n])) for n in order]

    return choose


def said_tools(examples: Sequence[ToolExample], tools: Mapping[str, Tool]) -> Choose:
    """The tool whose own words are said most: all there is to go by where nothing is retrieved."""
    known = {example.name: example for example in examples}

    def choose(one: PlannedRequest) -> Sequence[ToolHit]:
        example = known[one.name]
        scores = example.index.fields["all"].scores(tokenize(one.situation.request.text))
        best = int(np.argmax(scores))
        return [ToolHit(tools[example.index.catalog[best].name], float(scores[best]))]

    return choose


@dataclass(frozen=True, slots=True)
class PlanCell:
    """One row's share on one metric, and p against the row without context."""

    interval: Interval
    p: float | None


def scores(cases: Sequence[PlanCase]) -> dict[str, Floats]:
    """Every metric of every case."""
    verdicts = [case.verdict for case in cases]
    return {
        "AST": np.array([verdict.ast for verdict in verdicts], np.float64),
        "exact": np.array([verdict.exact for verdict in verdicts], np.float64),
        "hallucination": np.array([verdict.hallucinated for verdict in verdicts], np.float64),
    }


def cells(rows: Rows) -> dict[tuple[str, str], PlanCell]:
    """Every row on every metric, tested against the row without context."""
    found: dict[tuple[str, str], PlanCell] = {}
    base = scores(rows[RAG])
    for row, cases in rows.items():
        alike = [case.asked.group for case in cases]
        for metric, values in scores(cases).items():
            p = None if row == RAG else paired_test(values, base[metric], groups=alike)
            found[row, metric] = PlanCell(bootstrap(values, groups=alike), p)
    return found


def split(cases: Sequence[PlanCase], by: Callable[[PlanCase], str]) -> dict[str, tuple[int, float, float]]:
    """By kind of request or by API: how many, and the shares of AST and exact matches."""
    parts: dict[str, list[PlanCase]] = {}
    for case in cases:
        parts.setdefault(by(case), []).append(case)
    found = {name: (len(part), scores(part)) for name, part in parts.items()}
    return {
        name: (n, float(values["AST"].mean()), float(values["exact"].mean()))
        for name, (n, values) in sorted(found.items())
    }


def errors(cases: Sequence[PlanCase]) -> dict[str, float]:
    """The share of all requests that each error cost."""
    return {error: sum(case.error == error for case in cases) / len(cases) for error in ERRORS}
