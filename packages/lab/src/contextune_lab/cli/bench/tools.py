"""Benchmarks of tool search: with and without context, on public catalogues, and when no tool fits."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.errors import ContextuneError
from contextune_lab.cli.bench.options import Out, Plot, Public, Vectors
from contextune_lab.cli.bench.recording import draw, figures_folder, record, subfolder

if TYPE_CHECKING:
    from contextune.embed import Embedder


def tools(public: Public = None, vectors: Vectors = None, out: Out = None, plot: Plot = None) -> None:
    """Measure tool search on the bundled personas, with and without context."""
    from contextune_lab.bench.bench_tables import kind_table, metric_table
    from contextune_lab.bench.quality import tools as tools_bench
    from contextune_lab.bench.untuned_embedder import untuned_embedder
    from contextune_lab.cli.training_data import tool_data
    from contextune_lab.train.embedder.fold_vectors import bundled_folds
    from contextune_lab.train.splits import is_test, restrict_to_test

    # the paper's pair of the figure is untuned: without it there is no figure
    untuned = untuned_embedder() if figures_folder(out, plot) else _untuned()
    folds = bundled_folds()
    people, others = tool_data(public, vectors)
    with output.progress("Cross-validation") as update:
        rows = tools_bench.tool_rows(folds, people, others, untuned, progress=update)
    command, shipped = "contextune bench tools", tools_bench.SHIPPED
    for by in ("kind", "application"):
        table = tools_bench.tool_table(people, rows, by=by)
        output.print_results(table, subfolder(out, f"tools-by-{by}"))
        overall = metric_table("tools", command, table, emphasis=shipped)
        record(out, overall, kind_table(f"tools-by-{by}", command, table, "recall@1", emphasis=shipped))
        draw(out, plot, overall)
    test = [example for example in people if is_test(example.group)]
    output.out.rule("Test part: personas that no choice looked at", align="left")
    table = tools_bench.tool_table(test, restrict_to_test(rows))
    output.print_results(table, subfolder(out, "tools-test"))
    record(out, metric_table("tools-test", command, table, emphasis=shipped))


def corrections(
    users: Annotated[int, typer.Option(min=1, help="Simulated users.")] = 10,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Measure how tool search learns a simulated user's private words from corrections."""
    from contextune_lab.bench import plots
    from contextune_lab.bench.quality.corrections import learning_curve
    from contextune_lab.bench.results_file import BenchTable, Cell, Row

    with output.progress("Users") as update:
        points = learning_curve(users, progress=update)
    columns = ["right tool first", "among the first three"]
    table = Table("corrections of a word", *columns)
    rows: list[Row] = []
    for point in points:
        shares = (point.first, point.among_three)
        table.add_row(str(point.corrections), *(f"{100 * share:.0f} %" for share in shares))
        rows.append(Row(str(point.corrections), [Cell(100 * share) for share in shares]))
    output.out.print(table)
    command = "contextune bench corrections"
    record(out, BenchTable("corrections", command, columns, rows, 0, "corrections of a word"))
    if plot := figures_folder(out, plot):
        plots.plot_curves(
            {
                columns[0]: [point.first for point in points],
                columns[1]: [point.among_three for point in points],
            },
            [point.corrections for point in points],
            plot / "corrections.svg",
            title="Learning private words for tools",
            x_label="corrections of a word",
            y_label="share of requests",
        )


def catalogues(
    public: Annotated[Path, typer.Option(help="Folder with toolbench, toollens and metatool.")],
    out: Out = None,
) -> None:
    """Measure tool search on the test sets of ToolBench, ToolLens and MetaTool."""
    from contextune_lab.bench.bench_tables import metric_table
    from contextune_lab.bench.quality import public_catalogues as public_bench

    with output.progress("Catalogues") as update:
        tables = public_bench.public_tables(public, _untuned(), progress=update)
    for title, table in tables.items():
        output.out.rule(title, align="left")
        output.print_results(table, subfolder(out, "catalogues", title.replace(" ", "-")))
    command = "contextune bench catalogues --public FOLDER"
    record(out, metric_table("catalogues", command, tables, intervals=["recall@5"], emphasis="learned"))


def published(
    livemcp: Annotated[Path | None, typer.Option(help="Folder with the repository of LiveMCPBench.")] = None,
    toolret: Annotated[
        Path | None,
        typer.Option(help="Folder with ToolRet as JSON Lines: queries/TASK.jsonl, tools/CATEGORY.jsonl."),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="File that caches vectors between runs.")] = None,
    out: Out = None,
) -> None:
    """Measure tool search on LiveMCPBench, and on ToolRet by its protocol."""
    from contextune.tools.catalog_file import CatalogFile
    from contextune.tools.methods import METHODS
    from contextune_lab.bench.bench_tables import metric_table
    from contextune_lab.public_data import livemcp as livemcp_data
    from contextune_lab.public_data import toolret as toolret_data

    if not livemcp and not toolret:
        raise ContextuneError("--livemcp or --toolret is needed: the folder of the data")
    with CatalogFile(cache) if cache else nullcontext() as vectors:
        if livemcp:
            data = livemcp_data.read_livemcp(livemcp)
            table = livemcp_data.evaluate_livemcp(data, list(METHODS), vectors)
            output.print_results(table, subfolder(out, "livemcp"))
            if data.skipped:
                names = ", ".join(sorted({request.detail for request in data.skipped}))
                output.print_error(f"{len(data.skipped)} tasks are skipped: no server has {names}")
            command = "contextune bench published --livemcp FOLDER"
            record(out, metric_table("livemcp", command, table, intervals=["recall@5"], emphasis="learned"))
        if toolret:
            requests = toolret_data.read_toolret(toolret)
            table = toolret_data.evaluate_toolret(requests, instructed=True, vector_cache=vectors)
            output.print_results(table, subfolder(out, "toolret"))
            output.out.print(f"Published NDCG@10: {dict(toolret_data.PUBLISHED)}")
            command = "contextune bench published --toolret FOLDER"
            facts = {"toolret/category mean": 100 * toolret_data.category_mean(table, "learned", "ndcg@10")}
            record(out, metric_table("toolret", command, table, emphasis="learned"), facts=facts)


def unseen(public: Public = None, vectors: Vectors = None, out: Out = None) -> None:
    """Measure tool search on public catalogues, each with a ranker that has not seen it."""
    from contextune_lab.bench.bench_tables import metric_table
    from contextune_lab.bench.quality import unseen_catalogues as unseen_bench
    from contextune_lab.cli.training_data import tool_data

    if not public:
        raise ContextuneError("--public and --vectors are needed: the catalogues, and their vectors")
    people, others = tool_data(public, vectors)
    with output.progress("Leaving out catalogues") as update:
        tables = unseen_bench.unseen_tables(people, others, progress=update)
    for source, table in tables.items():
        output.out.rule(source, align="left")
        output.print_results(table, subfolder(out, "unseen", source))
    command = "contextune bench unseen --public FOLDER --vectors FILE"
    record(
        out,
        metric_table(
            "unseen",
            command,
            tables,
            intervals=["recall@1", "recall@5"],
            emphasis=unseen_bench.LEARNED,
        ),
    )


def doubts(public: Public = None, vectors: Vectors = None, out: Out = None, plot: Plot = None) -> None:
    """Measure how well requests that no tool serves, or that need context, are detected."""
    from contextune.embed import default_embedder
    from contextune_lab.bench import plots
    from contextune_lab.bench.quality import abstention as abstention_bench
    from contextune_lab.bench.results_file import BenchTable, Cell, Row
    from contextune_lab.cli.training_data import tool_data

    people, others = tool_data(public, vectors)
    with output.progress("Cross-validation") as update:
        result = abstention_bench.measure_abstention(people, others, default_embedder(), progress=update)
    for table in abstention_bench.to_rich(result):
        output.out.print(table)
    rows = [
        Row(row.source, [Cell(row.count), Cell(row.auroc), Cell(100 * row.false_positives)])
        for row in (*result.rows, result.context)
    ]
    columns = ["cases", "AUROC", "false positives where 95 % of the served pass"]
    record(
        out,
        BenchTable("doubts", "contextune bench doubts", columns, rows, [0, 3, 1], "requests"),
        facts={
            "doubts/calibration error": 100 * result.calibration_error,
            "doubts/mean auroc": result.mean_auroc,
        },
    )
    if plot := figures_folder(out, plot):
        plots.plot_reliability(result.bins, plot / "fits.svg")


def _untuned() -> "Embedder | None":
    from contextune_lab.bench.untuned_embedder import untuned_embedder

    try:
        return untuned_embedder()
    except ContextuneError as error:
        output.print_error(f"the untuned row is left out: {error}")
        return None
