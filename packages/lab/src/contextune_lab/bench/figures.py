"""Draw tables of the results file that hold a curve: recall of tools, latency, sizes, token budget."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from contextune_lab.bench.plots import plot_curves
from contextune_lab.bench.quality.tools import FIGURE
from contextune_lab.bench.results_file import BenchResults, BenchTable, Row

_MEDIAN = re.compile(r"([\d,]+) items: median")
_RECALL = re.compile(r"Recall@(\d+)")
_HAYSTACK = re.compile(r"context-haystack-(\d+)")
_PERSONA_ITEMS = 33
"""Items of a bundled persona, about."""


def draw_tables(tables: Iterable[BenchTable], folder: Path) -> list[Path]:
    """Draw those of the tables that hold a curve; return the files."""
    files: list[Path] = []
    for table in tables:
        if table.id in _DRAWERS:
            files.append(folder / f"{table.id}.svg")
            _DRAWERS[table.id](table, files[-1])
    return files


def draw_results(results: BenchResults, folder: Path) -> list[Path]:
    """Draw all curves of a results file; return the files."""
    tables = {name: table for part in results.tables.values() for name, table in part.items()}
    files = draw_tables(tables.values(), folder)
    haystacks = {int(found[1]): name for name in tables if (found := _HAYSTACK.fullmatch(name))}
    if "context" in tables and haystacks:
        by_size = {_PERSONA_ITEMS: tables["context"]}
        by_size |= {size: tables[name] for size, name in sorted(haystacks.items())}
        files.append(folder / "context-haystack.svg")
        _draw_haystacks(by_size, files[-1])
    return files


def _draw_tools(table: BenchTable, file: Path) -> None:
    """Figure 2 of the paper: an untuned retriever with and without context, and ours."""
    depths = {
        position: int(found[1])
        for position, column in enumerate(table.columns)
        if (found := _RECALL.fullmatch(column))
    }
    rows = {row.name: row for row in table.rows}
    plot_curves(
        {name: _values(rows[name], depths) for name in FIGURE if name in rows},
        list(depths.values()),
        file,
        title="The right one of 59 APIs, on unseen personas",
        x_label="k",
        y_label="Recall@k, %",
    )


def _draw_latency(table: BenchTable, file: Path) -> None:
    sizes = {column: int(found[1].replace(",", "")) for column, found in _medians(table).items()}
    series = {
        row.name: _values(row, list(sizes)) for row in table.rows if not row.name.startswith("of these")
    }
    plot_curves(
        series,
        list(sizes.values()),
        file,
        title="One request, with embedding, by method",
        x_label="items in the store",
        y_label="median, ms",
        log_x=True,
    )


def _medians(table: BenchTable) -> dict[int, re.Match[str]]:
    """The columns of medians by their position."""
    return {
        position: found
        for position, column in enumerate(table.columns)
        if (found := _MEDIAN.fullmatch(column))
    }


def _draw_scale(table: BenchTable, file: Path) -> None:
    rows = [row for row in table.rows if row.cells and row.cells[0] and row.cells[0].value is not None]
    columns = {"short request": 0, "long request": 2}
    plot_curves(
        {name: [_values(row, [column])[0] for row in rows] for name, column in columns.items()},
        [float(row.name.replace(",", "")) for row in rows],
        file,
        title="One search for tools",
        x_label="tools in the catalogue",
        y_label="median, ms",
        log_x=True,
    )


def _draw_budget(table: BenchTable, file: Path) -> None:
    series: dict[str, Sequence[float]] = {}
    section = ""
    for row in table.rows:
        if row.cells:
            series[f"{section}, {row.name}"] = _values(row, range(len(table.columns)))
        else:
            section = row.name
    plot_curves(
        series,
        [float(column) for column in table.columns],
        file,
        title="Facts that a call needs, in a prompt of so many tokens",
        x_label="tokens",
        y_label="facts in the prompt, %",
        log_x=True,
    )


def _draw_haystacks(by_size: Mapping[int, BenchTable], file: Path) -> None:
    """Recall@3 of the methods that were measured at every number of items."""
    column = "Recall@3"
    values = {
        size: {
            row.name: _values(row, [list(table.columns).index(column)])[0] for row in table.rows if row.cells
        }
        for size, table in by_size.items()
    }
    names = [name for name in next(iter(values.values())) if all(name in each for each in values.values())]
    plot_curves(
        {name: [each[name] for each in values.values()] for name in names},
        list(by_size),
        file,
        title="The right items among many",
        x_label="items of the user",
        y_label=f"{column}, %",
        log_x=True,
    )


def _values(row: Row, columns: Iterable[int]) -> list[float]:
    """The values of some columns; not a number where nothing was measured."""
    cells = [row.cells[column] for column in columns]
    return [float("nan") if cell is None or cell.value is None else cell.value for cell in cells]


_DRAWERS: Mapping[str, Callable[[BenchTable, Path], None]] = {
    "tools": _draw_tools,
    "latency": _draw_latency,
    "scale-search": _draw_scale,
    "budget": _draw_budget,
}
