"""The table of plans as people read it, and as a file."""

import json
import math
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from contextune.evaluate.report import ALPHA, headed
from contextune.lab.bench.quality.plans import (
    BOTH,
    ERRORS,
    METRICS,
    PAPER,
    RAG,
    TUNED,
    PlanCase,
    Rows,
    cells,
    errors,
    split,
)


def to_rich(rows: Rows) -> list[Table]:
    """Overall, by kind, by API, and what went wrong."""
    return [_overall(rows), _errors(rows), _split(rows, "kind"), _split(rows, "API")]


def _overall(rows: Rows) -> Table:
    found = cells(rows)
    count = len(next(iter(rows.values())))
    table = headed(f"Plans for all requests (n = {count})", METRICS)
    for row in rows:
        shown: list[str] = []
        for place, metric in enumerate(METRICS):
            cell = found[row, metric]
            half = (cell.interval.high - cell.interval.low) / 2
            parts = [f"{100 * cell.interval.mean:.2f}"]
            if not math.isnan(half):
                parts.append(f"±{100 * half:.1f}")
            if cell.p is not None and cell.p < ALPHA:
                parts.append("*")
            if row in PAPER:
                parts.append(f"({100 * PAPER[row][place]:.2f})")
            shown.append(" ".join(parts))
        table.add_row(Text(row), *shown)
    table.caption = Text(
        "In percent. ± half the width of the 95% bootstrap interval; "
        f"* p < {ALPHA} against {RAG}, paired randomisation test; in parentheses: as published."
    )
    return table


def _errors(rows: Rows) -> Table:
    table = headed("What keeps plans from matching, in percent of all requests", ERRORS)
    for row, cases in rows.items():
        table.add_row(Text(row), *(f"{100 * share:.1f}" for share in errors(cases).values()))
    return table


def _key(by: str, case: PlanCase) -> str:
    return case.asked.kind if by == "kind" else case.asked.expected.api


def _split(rows: Rows, by: str) -> Table:
    heads = ["n", f"{TUNED}: AST", "exact", f"{BOTH}: AST", "exact"]
    table = headed(f"By {by}", heads)
    parts = {row: split(rows[row], lambda case: _key(by, case)) for row in (TUNED, BOTH)}
    for name, (count, *_) in parts[TUNED].items():
        shares = [share for row in (TUNED, BOTH) for share in parts[row][name][1:]]
        table.add_row(Text(name), str(count), *(f"{100 * share:.1f}" for share in shares))
    return table


def to_json(rows: Rows) -> dict[str, Any]:
    """All figures, and every plan with what became of it."""
    found = cells(rows)
    return {
        "requests": len(next(iter(rows.values()))),
        "rows": {
            row: {
                "metrics": {
                    metric: {
                        "mean": found[row, metric].interval.mean,
                        "low": found[row, metric].interval.low,
                        "high": found[row, metric].interval.high,
                        "p": found[row, metric].p,
                        "paper": PAPER[row][place] if row in PAPER else None,
                    }
                    for place, metric in enumerate(METRICS)
                },
                "errors": errors(cases),
                **{by: split(cases, lambda case, by=by: _key(by, case)) for by in ("kind", "API")},
                "plans": {case.asked.name: _plan(case) for case in cases},
            }
            for row, cases in rows.items()
        },
    }


def _plan(case: PlanCase) -> dict[str, Any]:
    plan = case.plan
    return {
        "api": plan.name if plan else None,
        "args": plan.args if plan else {},
        "missing": [one.argument for one in plan.missing] if plan else [],
        "confidence": round(plan.confidence, 4) if plan else None,
        "error": case.error,
        "exact": case.verdict.exact,
    }


def write(rows: Rows, folder: Path) -> None:
    """Write plans.json into a folder, made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(to_json(rows), indent=1, ensure_ascii=False)
    (folder / "plans.json").write_text(text + "\n", encoding="utf-8")
