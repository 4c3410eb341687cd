"""Merge what a benchmark measured into the results file of its output folder."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextune_lab.bench.results_file import BenchTable, Part


def record(
    out: Path | None,
    *tables: "BenchTable",
    facts: Mapping[str, float] | None = None,
    part: "Part" = "quality",
) -> None:
    """Add tables and facts to `out`/results.json, replacing those of the same name.

    Each table says what it was measured with, unless it does already.
    """
    from contextune_lab.bench.environment import environment, measured_with, merge_environments
    from contextune_lab.bench.results_file import FILE_NAME, BenchResults

    if out is None:
        return
    file = out / FILE_NAME
    results = BenchResults.read(file) if file.exists() else BenchResults()
    results.environment = merge_environments(
        results.environment, environment(results.environment.get("date"))
    )
    made_with = measured_with() if tables else ""
    results.add(part, [replace(table, made_with=table.made_with or made_with) for table in tables], facts)
    results.write(file)


def draw(out: Path | None, plot: Path | None, *tables: "BenchTable") -> None:
    """Draw the tables that hold a curve, if a folder for figures is given."""
    folder = figures_folder(out, plot)
    if folder:
        from contextune_lab.bench.figures import draw_tables

        draw_tables(tables, folder)


def subfolder(out: Path | None, *names: str) -> Path | None:
    """The folder of one table's own files, such as TREC runs."""
    return out.joinpath(*names) if out else None


def figures_folder(out: Path | None, plot: Path | None) -> Path | None:
    """The folder of the plots: `plot`, else `figures` in the output folder."""
    return plot or subfolder(out, "figures")
