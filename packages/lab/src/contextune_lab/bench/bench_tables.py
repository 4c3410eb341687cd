"""Result tables as tables of the docs: metrics as columns, or kinds of query as columns."""

import math
import re
from collections.abc import Mapping, Sequence

from contextune.evaluate.metrics import parse_metric
from contextune.evaluate.report import ALPHA
from contextune.evaluate.results import ResultCell, ResultTable
from contextune_lab.bench.results_file import BenchTable, Cell, Row


def metric_table(
    name: str,
    command: str,
    tables: ResultTable | Mapping[str, ResultTable],
    *,
    metrics: Sequence[str] | None = None,
    intervals: Sequence[str] | None = None,
    emphasis: str | None = None,
) -> BenchTable:
    """One column per metric; several result tables become sections.

    `intervals` are the metrics shown with their interval (default: all), `emphasis` is the default method.
    """
    sections = {"": tables} if isinstance(tables, ResultTable) else tables
    first = next(iter(sections.values()))
    measures = [parse_metric(metric) for metric in metrics] if metrics else first.metrics
    rows: list[Row] = []
    for title, table in sections.items():
        if title:
            rows.append(Row(f"{title} ({len(table.qrels):,})"))
        for row in table.rows:
            published = table.reference.get(row, {})
            cells = [
                to_cell(
                    table.cell(row, measure.name),
                    published.get(measure.name),
                    interval=intervals is None or measure.name in intervals,
                )
                for measure in measures
            ]
            rows.append(Row(row, cells, emphasis=row == emphasis))
        rows += [
            Row(row, [_published(published.get(measure.name)) for measure in measures])
            for row, published in table.reference.items()
            if row not in table.runs
        ]
    return BenchTable(name, command, [measure.label for measure in measures], rows)


def kind_table(
    name: str, command: str, table: ResultTable, metric: str, *, emphasis: str | None = None
) -> BenchTable:
    """One column per kind of query, for one metric, without intervals."""
    rows = [
        Row(
            row,
            [Cell(100 * table.cell(row, metric, kind).interval.mean) for kind in table.kinds],
            emphasis=row == emphasis,
        )
        for row in table.rows
    ]
    return BenchTable(name, command, table.kinds, rows, corner=parse_metric(metric).label)


def slug(title: str) -> str:
    """A title as part of a table's id: lower case, hyphens for all but letters, digits and dots."""
    return re.sub(r"[^\w.]+", "-", title.lower()).strip("-")


def to_cell(cell: ResultCell, published: float | None = None, *, interval: bool = True) -> Cell:
    """A result in percent."""
    half = 50 * (cell.interval.high - cell.interval.low)
    return Cell(
        100 * cell.interval.mean,
        None if math.isnan(half) or not interval else half,
        cell.p is not None and cell.p < ALPHA,
        None if published is None else 100 * published,
    )


def _published(value: float | None) -> Cell | None:
    return None if value is None else Cell(None, published=100 * value)
