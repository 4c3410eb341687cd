"""The planning benchmark as tables and as JSON."""

import json
import math
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from contextune.evaluate.report import ALPHA, empty_table
from contextune_lab.bench.quality.plan.persona_plans import (
    ERRORS,
    METRICS,
    PAPER,
    RAG,
    RIGHT_TOOL_AND_CONTEXT,
    TUNED,
    PlanCase,
    PlanRows,
    cells,
    error_shares,
    split_cases,
)


def to_rich(rows: PlanRows) -> list[Table]:
    """Tables: overall, errors, by kind of request, by API."""
    return [_overall(rows), _errors(rows), _split(rows, "kind"), _split(rows, "API")]


def _overall(rows: PlanRows) -> Table:
    cells_by_row = cells(rows)
    count = len(next(iter(rows.values())))
    table = empty_table(f"Plans for all requests (n = {count})", METRICS)
    for row in rows:
        texts: list[str] = []
        for column, metric in enumerate(METRICS):
            cell = cells_by_row[row, metric]
            half = (cell.interval.high - cell.interval.low) / 2
            parts = [f"{100 * cell.interval.mean:.2f}"]
            if not math.isnan(half):
                parts.append(f"±{100 * half:.1f}")
            if cell.p is not None and cell.p < ALPHA:
                parts.append("*")
            if row in PAPER:
                parts.append(f"({100 * PAPER[row][column]:.2f})")
            texts.append(" ".join(parts))
        table.add_row(Text(row), *texts)
    table.caption = Text(
        "In percent. ± half the width of the 95% bootstrap interval; "
        f"* p < {ALPHA} against {RAG}, paired randomisation test; in parentheses: the paper's values."
    )
    return table


def _errors(rows: PlanRows) -> Table:
    table = empty_table("Errors, in percent of all requests", ERRORS)
    for row, cases in rows.items():
        table.add_row(Text(row), *(f"{100 * share:.1f}" for share in error_shares(cases).values()))
    return table


def _key(by: str, case: PlanCase) -> str:
    return case.request.kind if by == "kind" else case.request.expected.tool


def _split(rows: PlanRows, by: str) -> Table:
    heads = ["n", f"{TUNED}: AST", "exact", f"{RIGHT_TOOL_AND_CONTEXT}: AST", "exact"]
    table = empty_table(f"By {by}", heads)
    parts = {
        row: split_cases(rows[row], lambda case: _key(by, case)) for row in (TUNED, RIGHT_TOOL_AND_CONTEXT)
    }
    for name, (count, *_) in parts[TUNED].items():
        shares = [share for row in (TUNED, RIGHT_TOOL_AND_CONTEXT) for share in parts[row][name][1:]]
        table.add_row(Text(name), str(count), *(f"{100 * share:.1f}" for share in shares))
    return table


def to_json(rows: PlanRows) -> dict[str, Any]:
    """All values, and every plan with its verdict."""
    cells_by_row = cells(rows)
    return {
        "requests": len(next(iter(rows.values()))),
        "rows": {
            row: {
                "metrics": {
                    metric: {
                        "mean": cells_by_row[row, metric].interval.mean,
                        "low": cells_by_row[row, metric].interval.low,
                        "high": cells_by_row[row, metric].interval.high,
                        "p": cells_by_row[row, metric].p,
                        "paper": PAPER[row][column] if row in PAPER else None,
                    }
                    for column, metric in enumerate(METRICS)
                },
                "errors": error_shares(cases),
                **{by: split_cases(cases, lambda case, by=by: _key(by, case)) for by in ("kind", "API")},
                "plans": {case.request.name: _plan(case) for case in cases},
            }
            for row, cases in rows.items()
        },
    }


def _plan(case: PlanCase) -> dict[str, Any]:
    plan = case.plan
    return {
        "api": plan.name if plan else None,
        "args": plan.args if plan else {},
        "missing": [question.argument for question in plan.missing] if plan else [],
        "confidence": round(plan.confidence, 4) if plan else None,
        "error": case.error,
        "exact": case.verdict.exact,
    }


def write_json(rows: PlanRows, folder: Path) -> None:
    """Write `plans.json` into a folder, which is created if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(to_json(rows), indent=1, ensure_ascii=False)
    (folder / "plans.json").write_text(text + "\n", encoding="utf-8")
