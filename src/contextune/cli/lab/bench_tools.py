"""Commands that measure the search for tools."""

from pathlib import Path
from typing import Annotated

import typer

from contextune.cli import output
from contextune.cli.lab.training_data import tool_data
from contextune.embed import Embedder, default_embedder
from contextune.errors import ContextuneError
from contextune.lab.bench import plots
from contextune.lab.bench.quality import abstention as doubts_bench
from contextune.lab.bench.quality import public_catalogues as public_bench
from contextune.lab.bench.quality import tools as tools_bench
from contextune.lab.bench.speed import large_catalogues as scale_bench
from contextune.lab.bench.untuned_embedder import untuned_embedder
from contextune.lab.train.embedder.fold_vectors import bundled_folds

Public = Annotated[
    Path | None, typer.Option(help="Folder of toolbench, toollens and metatool; they are not in the package.")
]
Vectors = Annotated[
    Path | None, typer.Option(help="With --public: their vectors by fold, from the embedders' training run.")
]
Out = Annotated[Path | None, typer.Option(help="Folder for JSON, CSV and TREC files.")]
Plot = Annotated[Path | None, typer.Option(help="Folder to draw figures into (needs matplotlib).")]


def add_to(app: typer.Typer) -> None:
    """Hang this module's commands on the group."""
    for command in (tools, catalogues, doubts, scale):
        app.command()(command)


def tools(public: Public = None, vectors: Vectors = None, out: Out = None, plot: Plot = None) -> None:
    """Print how often the right API is found, with and without context, on the bundled personas."""
    folds = bundled_folds()
    people, others = tool_data(public, vectors)
    with output.progress("Cross-validation") as update:
        rows = tools_bench.tool_rows(folds, people, others, _untuned(), progress=update)
    for by in ("kind", "application"):
        table = tools_bench.tool_table(people, rows, by=by)
        output.results(table, out / by if out else None)
    if plot:
        table = tools_bench.tool_table(people, rows)
        title = "The right one of 59 APIs, on personas not seen"
        plots.recall_curves(table, (1, 3, 5, 10), plot / "tools.svg", title=title)


def catalogues(
    public: Annotated[Path, typer.Option(help="Folder of toolbench, toollens and metatool.")], out: Out = None
) -> None:
    """Measure on public catalogues: ToolBench, ToolLens, MetaTool; test parts only."""
    with output.progress("Catalogues") as update:
        tables = public_bench.public_tables(public, _untuned(), progress=update)
    for title, table in tables.items():
        output.out.rule(title, align="left")
        output.results(table, out / title.replace(" ", "-") if out else None)


def doubts(public: Public = None, vectors: Vectors = None, plot: Plot = None) -> None:
    """Measure how well it is told that no tool fits, and that context is needed."""
    people, others = tool_data(public, vectors)
    with output.progress("Cross-validation") as update:
        found = doubts_bench.judge(people, others, default_embedder(), progress=update)
    for table in doubts_bench.to_rich(found):
        output.out.print(table)
    if plot:
        plots.reliability(found.bins, plot / "fits.svg")


def scale(
    public: Annotated[Path, typer.Option(help="Folder that holds toolbench/toolenv.jsonl.gz.")],
    size: Annotated[list[int] | None, typer.Option(help="Tools in the catalogue; may be repeated.")] = None,
    cache: Annotated[Path | None, typer.Option(help="File that keeps vectors for the next run.")] = None,
) -> None:
    """Time catalogues of 1,000 to 1,000,000 tools."""
    with output.progress("Catalogues") as update:
        rows = scale_bench.scale_rows(public, size or [1_000, 10_000, 47_000], cache, update)
    for table in scale_bench.to_rich(rows):
        output.out.print(table)


def _untuned() -> Embedder | None:
    try:
        return untuned_embedder()
    except ContextuneError as error:
        output.error(f"the untuned row is left out: {error}")
        return None
