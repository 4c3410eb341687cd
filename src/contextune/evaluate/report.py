"""Result tables for the terminal, JSON and CSV, and TREC runs and qrels.

The terminal shows percentages with one decimal; files have values from 0 to 1 at full precision.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import Qrels, Run, parse_metric
from contextune.evaluate.results import ALL, LEVEL, ResultCell, ResultTable

MARK = "†"
ALPHA = 0.05


def to_rich(table: ResultTable, *, by_kind: str | None = None) -> list[RichTable]:
    """The overall results and, if there are kinds, one metric by kind: `by_kind`, or the first one."""
    chosen = parse_metric(by_kind) if by_kind is not None else table.metrics[0]
    if chosen not in table.metrics:
        names = ", ".join(measure.name for measure in table.metrics)
        raise ValueError(f"by_kind={by_kind!r} is not measured: use one of {names}")
    return [_overall(table), *([_by_kind(table, chosen.name)] if table.kinds else [])]


def _overall(table: ResultTable) -> RichTable:
    queries = len(table.qrels)
    rich = empty_table(f"All queries (n = {queries})", [measure.label for measure in table.metrics])
    rich.caption = _caption(table)
    for row in table.rows:
        figures = table.reference.get(row, {})
        shown = [_shown(table.cell(row, m.name), figures.get(m.name)) for m in table.metrics]
        rich.add_row(Text(row), *shown)
    for row, figures in table.reference.items():
        if row not in table.runs:
            shown = [f"({_percent(figures[m.name])})" if m.name in figures else "" for m in table.metrics]
            rich.add_row(Text(row), *shown, style="dim")
    return rich


def _by_kind(table: ResultTable, name: str) -> RichTable:
    counts = [table.cell(table.rows[0], name, kind).n for kind in table.kinds]
    heads = [f"{kind} (n = {n})" for kind, n in zip(table.kinds, counts, strict=True)]
    rich = empty_table(f"{parse_metric(name).label} by kind of query", heads)
    for row in table.rows:
        rich.add_row(
            Text(row), *(_percent(table.cell(row, name, kind).interval.mean) for kind in table.kinds)
        )
    return rich


def empty_table(title: str, heads: Sequence[str]) -> RichTable:
    """A table without rows: a column for row names, and one per head."""
    # Text, as square brackets in a str would be parsed as markup
    rich = RichTable(title=Text(title), title_justify="left", caption_justify="left")
    rich.add_column("")
    for head in heads:
        rich.add_column(Text(head), justify="right")
    return rich


def _shown(cell: ResultCell, published: float | None) -> str:
    half = (cell.interval.high - cell.interval.low) / 2
    parts = [_percent(cell.interval.mean)]
    if not math.isnan(half):
        parts.append(f"±{_percent(half)}")
    if cell.p is not None and cell.p < ALPHA:
        parts.append(MARK)
    if published is not None:
        parts.append(f"({_percent(published)})")
    return " ".join(parts)


def _caption(table: ResultTable) -> Text:
    notes = [f"In percent. ± half the width of the {LEVEL:.0%} bootstrap interval"]
    if table.baseline is not None:
        notes.append(f"{MARK} p < {ALPHA} against {table.baseline}, paired randomisation test")
    if table.reference:
        notes.append("in parentheses: as published")
    return Text("; ".join(notes) + ".")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def table_to_json(table: ResultTable) -> dict[str, Any]:
    """The table without its rankings as JSON values; NaN bounds become None."""
    slugs = _slugs(table.rows)
    return {
        "queries": len(table.qrels),
        "level": LEVEL,
        "baseline": table.baseline,
        "metrics": [measure.name for measure in table.metrics],
        "kinds": list(table.kinds),
        "reference": {row: dict(figures) for row, figures in table.reference.items()},
        "rows": [
            {
                "name": row,
                "run": f"{slugs[row]}.run",
                "results": {
                    measure.name: {
                        kind: _values(table.cell(row, measure.name, kind)) for kind in (ALL, *table.kinds)
                    }
                    for measure in table.metrics
                },
            }
            for row in table.rows
        ],
    }


def _values(cell: ResultCell) -> dict[str, int | float | None]:
    low, high = cell.interval.low, cell.interval.high
    return {
        "n": cell.n,
        "mean": cell.interval.mean,
        "low": None if math.isnan(low) else low,
        "high": None if math.isnan(high) else high,
        "p": cell.p,
    }


def write_report(table: ResultTable, folder: Path) -> None:
    """Write results.json, results.csv, qrels.trec and one `.run` per row into `folder`, which is created.

    All content is built before the first file is written, so that an error leaves nothing half written. A
    TREC run has no line for an empty ranking: readers must average over the queries of qrels.trec.
    """
    files = {
        "results.json": json.dumps(table_to_json(table), indent=2, ensure_ascii=False, allow_nan=False)
        + "\n",
        "results.csv": _csv(table),
        "qrels.trec": "".join(_qrels_lines(table.qrels)),
    }
    for row, slug in _slugs(table.rows).items():
        files[f"{slug}.run"] = "".join(_run_lines(table.runs[row], table.qrels, slug))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def _csv(table: ResultTable) -> str:
    text = io.StringIO(newline="")
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["row", "metric", "kind", "n", "mean", "low", "high", "p"])
    for (row, name, kind), cell in table.cells.items():
        out.writerow([row, name, kind, *_values(cell).values()])
    return text.getvalue()


def _qrels_lines(qrels: Qrels) -> Iterator[str]:
    for query, grades in qrels.items():
        for document, grade in grades.items():
            yield f"{_trec_id(query)} 0 {_trec_id(document)} {grade}\n"


def _run_lines(run: Run, qrels: Qrels, tag: str) -> Iterator[str]:
    for query in qrels:
        ranking = run.get(query, ())
        for rank, document in enumerate(ranking, start=1):
            # readers of TREC runs sort by score and ignore the rank, so scores must be strictly decreasing
            yield f"{_trec_id(query)} Q0 {_trec_id(document)} {rank} {len(ranking) - rank + 1} {tag}\n"


def _trec_id(identifier: str) -> str:
    if identifier.split() != [identifier]:
        raise InvalidDataError(
            f"id {identifier!r} is empty or contains whitespace, which TREC files do not allow; rename it"
        )
    return identifier


def _slugs(rows: Sequence[str]) -> Mapping[str, str]:
    slugs: dict[str, str] = {}
    for row in rows:
        slug = re.sub(r"[^\w.]+", "-", row.lower()).strip("-.")
        if not slug or slug in slugs.values():
            other = next((name for name, used in slugs.items() if used == slug), None)
            problem = f"like row {other!r}" if other is not None else "which has no name"
            raise InvalidDataError(f"row {row!r} would be written to '{slug}.run', {problem}; rename it")
        slugs[row] = slug
    return slugs
