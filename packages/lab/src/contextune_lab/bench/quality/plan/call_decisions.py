"""Calls and decisions on explicit, implicit and unserved requests; no model has seen the persona."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from contextune.plan import Policy
from contextune.plan.calls.planner import doubted_readings, ranked_readings
from contextune.plan.schema import tool_parameters
from contextune.types import Tool
from contextune_lab.bench.quality.plan.decisions import DecisionCase, DecisionFigures, decision_figures
from contextune_lab.train.rankers.calls.examples import FilledRequest
from contextune_lab.train.rankers.calls.requests import (
    EVERYDAY,
    FULL,
    PLAIN,
    REMOVED,
    CallRequest,
)
from contextune_lab.train.rankers.calls.train import RankedExample

EXPLICIT, IMPLICIT = "explicit", "implicit"
CONTACT, NAMED, NOTHING_STORED, LIST = "contact named", "item named", "nothing stored needed", "list"
EVERYDAY_ROW = "everyday"
NO_SUCH_TOOL, TOOL_REMOVED = "no such tool", "tool removed"
EVERYDAY_UNSERVED = "no such tool, everyday"
EXPLICIT_KINDS = (CONTACT, NAMED, NOTHING_STORED, LIST)
ROWS = (IMPLICIT, EXPLICIT, *EXPLICIT_KINDS, EVERYDAY_ROW)
UNSERVED_ROWS = (NO_SUCH_TOOL, EVERYDAY_UNSERVED, TOOL_REMOVED)
_LISTING = ("list_", "get_recent_", "find_free_", "get_call_history")


@dataclass(frozen=True, eq=False)
class CallCase:
    """A request with its readings, and whether the best of them is right."""

    row: str
    group: str
    """The persona."""
    case: DecisionCase
    tool: bool
    ast: bool
    exact: bool
    refused: bool
    """Whether the policy says that no tool serves."""


@dataclass(frozen=True)
class CallRow:
    """Shares of the requests of one row."""

    requests: int
    tool: float
    ast: float
    exact: float
    decisions: DecisionFigures
    refused: float


def explicit_kind(request: CallRequest, tools: Mapping[str, Tool], relevant: bool) -> str:
    """What an explicit request names; `relevant` says whether it needs an item."""
    expected = request.expected
    if expected is None:
        return NOTHING_STORED
    if any(_names_contact(value, request) for allowed in expected.args.values() for value in allowed):
        return CONTACT
    if relevant:
        return NAMED
    kinds = {p.name: p.kind for p in tool_parameters(tools[expected.tool])}
    only_times = all(kinds.get(name) in ("day", "moment", "duration") for name in expected.args)
    return LIST if only_times and expected.tool.startswith(_LISTING) else NOTHING_STORED


def _names_contact(value: Any, request: CallRequest) -> bool:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return any(request.inputs.people.index(part) is not None for part in values)


def call_cases(
    filled: Sequence[FilledRequest],
    ranked: Sequence[RankedExample],
    tools: Mapping[str, Tool],
    relevant: Mapping[str, bool],
    policy: Policy,
) -> list[CallCase]:
    """One case per request and row; `relevant`: by name of a request, whether it needs an item."""
    cases: list[CallCase] = []
    by_id = {tool.id: tool for tool in tools.values()}
    for request, row in zip(filled, ranked, strict=True):
        example = row.example
        if not example.judged or (example.source == PLAIN and example.served):
            continue  # the right arguments are unknown
        ranking = ranked_readings(request.plans, row.ranked)
        readings = doubted_readings(ranking, request.request.inputs, by_id)
        best = row.best if request.plans else None
        right = best is not None and bool(example.ast[best])
        plan = policy.decide(readings, _finder(tools))
        case = CallCase(
            "",
            example.group,
            DecisionCase(readings, right, example.served),
            best is not None and bool(example.tool[best]),
            right,
            best is not None and bool(example.exact[best]),
            plan is None or plan.decision == "none",
        )
        names = _rows(request.request, tools, relevant.get(example.name, False))
        cases += [replace(case, row=name) for name in names]
    return cases


def call_rows(cases: Sequence[CallCase], tools: Mapping[str, Tool], policy: Policy) -> dict[str, CallRow]:
    """The figures of every row that has cases."""
    rows: dict[str, CallRow] = {}
    for name in (*ROWS, *UNSERVED_ROWS):
        chosen = [case for case in cases if case.row == name]
        if not chosen:
            continue
        decisions = decision_figures([case.case for case in chosen], policy, _finder(tools))
        rows[name] = CallRow(
            len(chosen),
            _share([case.tool for case in chosen]),
            _share([case.ast for case in chosen]),
            _share([case.exact for case in chosen]),
            decisions,
            _share([case.refused for case in chosen]),
        )
    return rows


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


def _rows(request: CallRequest, tools: Mapping[str, Tool], relevant: bool) -> tuple[str, ...]:
    if request.source == REMOVED:
        return (TOOL_REMOVED,)
    if request.source == PLAIN:
        return (NO_SUCH_TOOL,)
    if request.source == EVERYDAY:
        return (EVERYDAY_UNSERVED if request.tool is None else EVERYDAY_ROW,)
    if request.source == FULL and request.kind == EXPLICIT:
        return (EXPLICIT, explicit_kind(request, tools, relevant))
    return (IMPLICIT,)


def _finder(tools: Mapping[str, Tool]) -> "_FindByName":
    return _FindByName(tools)


@dataclass(frozen=True)
class _FindByName:
    """Finds tools by id or name."""

    tools: Mapping[str, Tool]

    def __call__(self, tool: str) -> Tool:
        return self.tools[tool.rpartition("/")[2]]
