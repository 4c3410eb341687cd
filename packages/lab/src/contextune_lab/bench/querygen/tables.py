"""Tables of query generation for the docs."""

from collections.abc import Mapping, Sequence

from contextune.evaluate.metrics import parse_metric
from contextune.evaluate.results import ResultTable
from contextune_lab.bench.bench_tables import metric_table, slug, to_cell
from contextune_lab.bench.querygen.logs import AlignmentIteration, Calibration
from contextune_lab.bench.querygen.measure import PAPER_TESTS, UTTERANCE
from contextune_lab.bench.querygen.report import ReportGroup
from contextune_lab.bench.results_file import BenchTable, Cell, Row

COMMAND = "contextune bench querygen --public FOLDER"
METRIC = "recall@5"
PUBLISHED: Mapping[str, tuple[float, float]] = {
    "zero-shot, without the request": (-8.67, -7.84),
    "SFT, without the request": (-4.54, -21.28),
    "alignment, without the request": (1.91, -6.36),
    "p_top 75 %": (-0.28, -0.29),
    "r_min 0.3": (-0.50, -0.01),
    "r_min 0": (-0.06, -0.05),
    "n_draft 2": (-0.29, -1.43),
    "reward MAP": (-3.45, -0.82),
    "reward recall": (-0.87, -1.10),
    "intents, two iterations": (-0.35, -0.29),
}
"""The paper's Tables 2 to 5: differences in Recall@5, in domain and out of domain."""


def docs_tables(group: ReportGroup) -> list[BenchTable]:
    """The tables that the docs show of a group."""
    name = f"querygen-{slug(group.name)}"
    match group.name:
        case "models":
            (tables,) = group.parts
            papers = {title: table for title, table in tables.items() if title in PAPER_TESTS}
            return [metric_table(name, COMMAND, papers), recall_table(f"{name}-recall", group.parts)]
        case "combination" | "filters" | "intents" | "names":
            return [difference_table(name, group.parts)]
        case _:
            return [recall_table(name, group.parts)]


def gain_facts(group: ReportGroup) -> dict[str, float]:
    """What the text says of alignment: its gain in Recall@5 over the request alone, by test."""
    if group.name != "models":
        return {}
    return {
        f"querygen/gain/alignment/{title}": 100
        * (table.cell("alignment", METRIC).interval.mean - table.cell(UTTERANCE, METRIC).interval.mean)
        for title, table in group.parts[0].items()
    }


def recall_table(name: str, parts: Sequence[Mapping[str, ResultTable]]) -> BenchTable:
    """Recall@5 of every row, one column per test."""
    rows = [
        Row(row, [to_cell(table.cell(row, METRIC)) for table in part.values()])
        for part in parts
        for row in _rows(part)
    ]
    return BenchTable(name, COMMAND, _columns(parts), rows, corner=parse_metric(METRIC).label)


def difference_table(name: str, parts: Sequence[Mapping[str, ResultTable]]) -> BenchTable:
    """Recall@5 of each baseline row, and the differences of the others from it, with the paper's."""
    rows: list[Row] = []
    for part in parts:
        baseline = next(iter(part.values())).baseline
        if baseline is None:
            raise ValueError(f"{name}: differences need a baseline row")
        rows.append(Row(baseline, [to_cell(table.cell(baseline, METRIC)) for table in part.values()]))
        for row in _rows(part):
            if row not in (baseline, UTTERANCE):
                cells = [_difference(title, table, row, baseline) for title, table in part.items()]
                rows.append(Row(f"{row}, difference", cells))
    return BenchTable(name, COMMAND, _columns(parts), rows, corner=parse_metric(METRIC).label)


def _difference(title: str, table: ResultTable, row: str, baseline: str) -> Cell:
    cell = to_cell(table.cell(row, METRIC), interval=False)
    published = dict(zip(PAPER_TESTS, PUBLISHED.get(row, ()), strict=False)).get(title)
    difference = table.cell(row, METRIC).interval.mean - table.cell(baseline, METRIC).interval.mean
    return Cell(100 * difference, significant=cell.significant, published=published)


def temperature_table(calibrations: Sequence[Calibration]) -> BenchTable:
    """Recall@5 on the dev split, one column per temperature."""
    temperatures = sorted({key for calibration in calibrations for key in calibration.by_temperature})
    rows = [
        Row(calibration.model, [_percent(calibration, t) for t in temperatures])
        for calibration in calibrations
    ]
    columns = [f"{temperature:g}" for temperature in temperatures]
    return BenchTable("querygen-temperatures", COMMAND, columns, rows, corner="temperature")


def _percent(calibration: Calibration, temperature: float) -> Cell | None:
    value = calibration.by_temperature.get(temperature)
    return None if value is None else Cell(100 * value)


def draft_facts(logs: Sequence[AlignmentIteration]) -> dict[str, float]:
    """What the text says of the drafts: rewards of the first and the last iteration, and the speed."""
    if not logs:
        return {}
    speeds = [log.tokens_per_second for log in logs]
    return {
        "querygen/drafts/first mean reward": logs[0].reward,
        "querygen/drafts/last mean reward": logs[-1].reward,
        "querygen/drafts/first best reward": logs[0].best,
        "querygen/drafts/last best reward": logs[-1].best,
        "querygen/drafts/lowest tokens per second": min(speeds),
        "querygen/drafts/highest tokens per second": max(speeds),
    }


def _columns(parts: Sequence[Mapping[str, ResultTable]]) -> list[str]:
    return [f"{title} ({len(table.qrels):,})" for title, table in parts[0].items()]


def _rows(part: Mapping[str, ResultTable]) -> tuple[str, ...]:
    return next(iter(part.values())).rows
