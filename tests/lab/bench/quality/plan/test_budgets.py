"""Prompts of several sizes for any language model, and the table of its answers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench.quality.plan.test_persona_plans import TOOLS, requests

from contextune.plan import Policy, ReadingPlanner
from contextune.plan.language_model.planner import call_json
from contextune.tools.profiles.effects import is_irreversible
from contextune.types import ToolHit
from contextune_lab.bench.plan_tables import plan_budget_table
from contextune_lab.bench.quality.plan.budgets import (
    BUDGETS,
    MAX_TOOLS,
    MEASURED_OUTSIDE,
    BudgetBench,
    PlanBudget,
    answered_budgets,
    figures,
    write_prompts,
)
from contextune_lab.bench.quality.plan.written_plans import RecordedAnswer, has_table_rows, read_written_plans
from contextune_lab.docs.benchmark_tables import to_markdown
from contextune_lab.train.planned_requests import PlannedRequest

FEW = requests()[:4]
SMALL, LARGE = PlanBudget(3, 4), PlanBudget(10, 8)


def choose(request: PlannedRequest) -> list[ToolHit]:
    """The right tool first, then others."""
    others = [tool for name, tool in TOOLS.items() if name != request.expected.tool]
    tools = [TOOLS[request.expected.tool], *others[: MAX_TOOLS - 1]]
    return [ToolHit(tool, -float(place)) for place, tool in enumerate(tools)]


def prompts(folder: Path) -> list[dict[str, Any]]:
    assert write_prompts(folder / "prompts.jsonl", FEW, choose) == len(FEW) * len(BUDGETS)
    return [json.loads(line) for line in (folder / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]


def right_answer(request: PlannedRequest) -> str:
    return call_json(request.expected.tool, {name: v[0] for name, v in request.expected.args.items()})


def bench(answers: Mapping[tuple[str, str], RecordedAnswer], trust: float = 0.9) -> BudgetBench:
    return BudgetBench(answers, choose, ReadingPlanner(), TOOLS, Policy(), trust)


def test_prompts_hold_as_many_items_and_tools_as_the_budget_says(tmp_path: Path) -> None:
    rows = prompts(tmp_path)
    assert [row["row"] for row in rows[: len(BUDGETS)]] == [
        "3 items, 4 tools",
        "3 items, 8 tools",
        "5 items, 4 tools",
        "5 items, 8 tools",
        "10 items, 4 tools",
        "10 items, 8 tools",
    ]
    by_row = {row["row"]: row for row in rows if row["name"] == FEW[0].name}
    for budget in BUDGETS:
        prompt = by_row[budget.row]
        assert len(prompt["tools"]) == budget.tools
        system, user = (message["content"] for message in prompt["messages"])
        assert "JSON" in system
        assert all(f"\n{name}(" in user for name in prompt["tools"])
        assert f"<{budget.items} " in user
        assert f"<{budget.items + 1} " not in user
        assert FEW[0].planning_input.request.text in user


def test_prompts_do_not_tell_the_right_call(tmp_path: Path) -> None:
    assert all(set(row) == {"name", "row", "tools", "messages"} for row in prompts(tmp_path))


def test_answers_to_the_prompts_are_measured_by_budget(tmp_path: Path) -> None:
    """From the prompts file to the table, with a model that is right at one budget and invents at another."""
    by_name = {request.name: request for request in FEW}
    wrong = call_json("made_up", {"speed": 3})
    answers = [
        {**{key: row[key] for key in ("name", "row", "tools")}, "answer": answer}
        for row in prompts(tmp_path)
        if (answer := {LARGE.row: right_answer(by_name[row["name"]]), SMALL.row: wrong}.get(row["row"]))
    ]
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    written = read_written_plans(file)
    assert answered_budgets(written) == [SMALL, LARGE]
    assert not has_table_rows(written)
    cases = bench(written).run(FEW)
    good, bad = figures(cases[LARGE]), figures(cases[SMALL])
    assert (good.raw_ast, good.hallucinated, good.requests) == (1.0, 0.0, len(FEW))
    assert (bad.raw_ast, bad.hallucinated) == (0.0, 1.0)
    assert not any(case.verdict.hallucinated for row in cases.values() for case in row)
    assert good.acted_wrongly <= good.acted
    assert good.tokens > bad.tokens > 100


def test_policy_acts_more_often_on_a_trusted_model() -> None:
    few = [request for request in requests() if not is_irreversible(TOOLS[request.expected.tool])][:4]
    answers = {(request.name, LARGE.row): RecordedAnswer(right_answer(request)) for request in few}
    doubted, trusted = (figures(bench(answers, trust).run(few)[LARGE]).acted for trust in (0.05, 0.999))
    assert doubted < trusted


def test_stale_and_missing_answers_are_left_out() -> None:
    answers = {
        (FEW[0].name, LARGE.row): RecordedAnswer(right_answer(FEW[0]), ("skip_track",)),
        (FEW[1].name, LARGE.row): RecordedAnswer(right_answer(FEW[1])),
    }
    (cases,) = bench(answers).run(FEW).values()
    assert [case.request.name for case in cases] == [FEW[1].name]


def test_table_has_a_row_per_budget_and_what_was_measured_outside() -> None:
    answers = {(request.name, LARGE.row): RecordedAnswer(right_answer(request)) for request in FEW}
    cases = bench(answers).run(FEW)
    table = plan_budget_table("contextune bench plan --written FILE", cases)
    values = dict(table.values())
    assert values["plan-budgets/10 items, 8 tools/raw AST"] == 100
    assert values["plan-budgets/10 items, 8 tools/AST"] == pytest.approx(
        100 * sum(case.verdict.ast for case in cases[LARGE]) / len(FEW)
    )
    outside = [name for name in values if "measured outside" in name]
    assert len(outside) == 2 * len(MEASURED_OUTSIDE)
    assert "| (93.2) | (85.7) |" in to_markdown(table)
