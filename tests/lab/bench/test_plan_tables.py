"""Plans and budgets as tables of the docs."""

import pytest
from tests.lab.bench.quality.plan.test_persona_plans import make_rows

from contextune.evaluate.stats import Interval
from contextune_lab.bench.plan_tables import answers_table, budget_bench_table, plan_tables
from contextune_lab.bench.quality.plan import persona_plans as plans
from contextune_lab.bench.quality.prompt_budget import PACKED, TRUNCATED, BudgetTable, FactsKept


def test_plan_tables_have_the_figures_of_the_report() -> None:
    rows = make_rows()
    overall, errors, by_kind = plan_tables("plan-light", "contextune bench plan", rows)
    assert [table.id for table in (overall, errors, by_kind)] == [
        "plan-light",
        "plan-light-errors",
        "plan-light-by-kind",
    ]
    values = dict(overall.values()) | dict(errors.values()) | dict(by_kind.values())
    mean = plans.cells(rows)[plans.TUNED, "AST"].interval.mean
    assert values[f"plan-light/{plans.TUNED}/AST"] == pytest.approx(100 * mean)
    assert values[f"plan-light/{plans.TUNED}/AST/published"] == pytest.approx(85.24)
    assert values[f"plan-light-errors/{plans.RAG}/wrong tool"] == 100
    cases = rows[plans.TUNED]
    kind = cases[0].request.kind
    same_kind = [case.verdict.ast for case in cases if case.request.kind == kind]
    expected = 100 * sum(same_kind) / len(same_kind)
    assert values[f"plan-light-by-kind/{plans.TUNED}/{kind}"] == pytest.approx(expected)
    assert [row.name for row in overall.rows if row.emphasis] == [plans.TUNED]


def test_answers_kept_and_left_out_are_counted() -> None:
    stale = {plans.RAG: ["a01/q1", "a01/q2"], plans.TUNED: ["a01/q2"]}
    table = answers_table("contextune bench plan --written FILE", 770, stale, left_out=2, replaced=5)
    values = dict(table.values())
    assert values["plan-answers/stale, RAG, no context/number"] == 2
    assert values["plan-answers/kept/number"] == 768


def test_budget_tables_of_several_methods_become_sections() -> None:
    def kept(share: float) -> FactsKept:
        return FactsKept(Interval(share, share - 0.1, share + 0.1), p=0.01)

    tables = [
        BudgetTable({(name, way, 64): kept(share) for way, share in ((PACKED, 0.5), (TRUNCATED, 0.75))}, 3, 4)
        for name in ("semantic", "learned")
    ]
    table = budget_bench_table("contextune bench budget", tables)
    assert [row.name for row in table.rows] == ["semantic", PACKED, TRUNCATED, "learned", PACKED, TRUNCATED]
    assert dict(table.values())["budget/learned/truncated/64"] == 75
    assert table.rows[1].cells[0] is not None
    assert table.rows[1].cells[0].half is None
    assert table.rows[1].cells[0].significant
