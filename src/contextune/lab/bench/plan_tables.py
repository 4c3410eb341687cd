"""Results of the planning and prompt budget benchmarks as tables of the docs."""

import math
from collections.abc import Sequence

from contextune.evaluate.report import ALPHA
from contextune.evaluate.stats import Interval
from contextune.lab.bench.quality import plans, prompt_budget
from contextune.lab.bench.results_file import BenchTable, Cell, Row


def plan_tables(name: str, command: str, rows: plans.PlanRows) -> list[BenchTable]:
    """Match and hallucination by row, errors by row, and match by kind of request, in percent."""
    cells = plans.cells(rows)
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
            ],
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
    kinds = list(next(iter(by_kind.values()))) if by_kind else []
    return [
        BenchTable(name, command, plans.METRICS, overall, [1, 1, 2]),
        BenchTable(f"{name}-errors", command, plans.ERRORS, errors),
        BenchTable(
            f"{name}-by-kind",
            command,
            kinds,
            [Row(row, [Cell(100 * parts[kind][1]) for kind in kinds]) for row, parts in by_kind.items()],
            corner="AST",
        ),
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
