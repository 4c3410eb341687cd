"""Results of the planning and prompt budget benchmarks as tables of the docs."""

import math
from collections.abc import Mapping, Sequence

from contextune.evaluate.report import ALPHA
from contextune.evaluate.stats import Interval
from contextune_lab.bench.quality import prompt_budget
from contextune_lab.bench.quality.plan import budgets as plan_budgets
from contextune_lab.bench.quality.plan import persona_plans as plans
from contextune_lab.bench.results_file import BenchTable, Cell, Row

RENAMED = "renamed"


def plan_tables(
    name: str, command: str, rows: plans.PlanRows, renamed: plans.PlanRows | None = None
) -> list[BenchTable]:
    """Match and hallucination by row, errors by row, and match by kind of request, in percent.

    `renamed` has the same plans with the tools under other names.
    """
    cells = plans.cells(rows)
    others = plans.cells(renamed) if renamed else {}
    also = plans.METRICS[:2] if renamed else ()
    overall = [
        Row(
            row,
            [
                _cell(
                    cells[row, metric].interval,
                    cells[row, metric].p,
                    plans.PAPER[row][column] if row in plans.PAPER else None,
                )
                for column, metric in enumerate(plans.METRICS)
            ]
            + [_cell(others[row, metric].interval, None) for metric in also],
            emphasis=row == plans.TUNED,
        )
        for row in rows
    ]
    errors = [
        Row(row, [Cell(100 * plans.error_shares(cases)[error]) for error in plans.ERRORS])
        for row, cases in rows.items()
    ]
    by_kind = {
        row: plans.split_cases(cases, lambda case: case.request.kind)
        for row, cases in rows.items()
        if row in (plans.TUNED, plans.RIGHT_TOOL_AND_CONTEXT)
    }
    if renamed:
        tuned = renamed[plans.TUNED]
        by_kind[f"{plans.TUNED}, {RENAMED}"] = plans.split_cases(tuned, lambda case: case.request.kind)
    kinds = list(next(iter(by_kind.values()))) if by_kind else []
    return [
        BenchTable(
            name,
            command,
            [*plans.METRICS, *(f"{metric}, {RENAMED}" for metric in also)],
            overall,
            [1, 1, 2, *(1 for _ in also)],
        ),
        BenchTable(f"{name}-errors", command, plans.ERRORS, errors),
        BenchTable(
            f"{name}-by-kind",
            command,
            kinds,
            [Row(row, [Cell(100 * parts[kind][1]) for kind in kinds]) for row, parts in by_kind.items()],
            corner="AST",
        ),
    ]


def answers_table(
    command: str, recorded: int, stale: Mapping[str, Sequence[str]], left_out: int, replaced: int
) -> BenchTable:
    """How many recorded answers of a language model are in its table, by row of that table."""
    counts = {
        "requests with answers": recorded,
        **{f"stale, {row}": len(names) for row, names in stale.items()},
        "left out of all rows: stale in one of them": left_out,
        "kept": recorded - left_out,
        "calls replaced by the light planner's, in all rows": replaced,
    }
    rows = [Row(name, [Cell(count)]) for name, count in counts.items()]
    return BenchTable("plan-answers", command, ["number"], rows)


BUDGET_COLUMNS = ("AST", "exact", "raw AST", "raw hallucination", "acted on", "wrong, yet acted on", "tokens")


def plan_budget_table(command: str, cases: plan_budgets.BudgetCases) -> BenchTable:
    """A language model's plans by retrieval budget, then what was measured outside, in percent."""
    rows = [
        Row(budget.row, _budget_cells(plan_budgets.figures(cases[budget])))
        for budget in cases
        if cases[budget]
    ]
    outside = [
        Row(
            f"{result.model}, {result.budget.row}",
            [Cell(None, published=result.ast), Cell(None, published=result.exact), *[None] * 5],
        )
        for result in plan_budgets.MEASURED_OUTSIDE
    ]
    return BenchTable(
        "plan-budgets",
        command,
        BUDGET_COLUMNS,
        [*rows, Row("measured outside, on other personas"), *outside],
        [1, 1, 1, 2, 1, 1, 0],
    )


def _budget_cells(figures: plan_budgets.BudgetFigures) -> list[Cell]:
    return [
        _cell(figures.ast, None),
        _cell(figures.exact, None),
        Cell(100 * figures.raw_ast),
        Cell(100 * figures.hallucinated),
        Cell(100 * figures.acted),
        Cell(100 * figures.acted_wrongly),
        Cell(figures.tokens),
    ]


def budget_bench_table(command: str, tables: Sequence[prompt_budget.BudgetTable]) -> BenchTable:
    """Share of facts kept, by ranking, way of fitting and budget; each ranking is a section."""
    cells = {key: cell for table in tables for key, cell in table.cells.items()}
    budgets = sorted({budget for _, _, budget in cells})
    rows: list[Row] = []
    section = ""
    for ranking, packing in dict.fromkeys((ranking, packing) for ranking, packing, _ in cells):
        if ranking != section:
            section = ranking
            rows.append(Row(ranking))
        kept = [cells.get((ranking, packing, budget)) for budget in budgets]
        rows.append(
            Row(packing, [_cell(fact.share, fact.p, interval_shown=False) if fact else None for fact in kept])
        )
    return BenchTable("budget", command, [str(budget) for budget in budgets], rows, corner="tokens")


def _cell(
    interval: Interval, p: float | None, published: float | None = None, *, interval_shown: bool = True
) -> Cell:
    half = 50 * (interval.high - interval.low)
    return Cell(
        100 * interval.mean,
        half if interval_shown and not math.isnan(half) else None,
        p is not None and p < ALPHA,
        None if published is None else 100 * published,
    )
