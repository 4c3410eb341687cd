"""Benchmark of query generation, from the queries of training runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import output
from contextune.errors import ContextuneError
from contextune_lab.cli.bench.options import Out, Plot
from contextune_lab.cli.bench.recording import figures_folder, record, subfolder

if TYPE_CHECKING:
    from contextune.evaluate.results import ResultTable
    from contextune_lab.bench.querygen.logs import AlignmentIteration
    from contextune_lab.bench.querygen.search import QuerySearch

Runs = Annotated[
    list[Path] | None,
    typer.Option(help="Folder of a training run; may be repeated. Default: all tables of the recorded runs."),
]
SEARCHES = ("untuned", "tuned", "learned")


def querygen(
    public: Annotated[Path, typer.Option(help="Folder with toolbench, toollens and metatool.")],
    run: Runs = None,
    search: Annotated[
        str, typer.Option(help="With --run: untuned or tuned embedder, or the learned ranker.")
    ] = "untuned",
    with_request: Annotated[bool, typer.Option(help="Also search for the request itself.")] = True,
    request_first: Annotated[
        bool, typer.Option(help="Rank the results of the request first (the paper: last).")
    ] = False,
    baseline: Annotated[str, typer.Option(help="Row that the others are compared with.")] = "utterance",
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Print the paper's tables of query generation, from the queries of training runs."""
    from contextune_lab.bench.querygen import logs as query_logs
    from contextune_lab.bench.querygen import measure as querygen_bench
    from contextune_lab.bench.querygen import tables as querygen_tables
    from contextune_lab.bench.querygen.report import RUNS

    if search not in SEARCHES:
        raise ContextuneError(f"no search {search!r}: use {', '.join(SEARCHES)}")
    if run is None:
        _print_report(public, out)
    else:
        generated = querygen_bench.read_runs(run)
        tests = querygen_bench.PAPER_TESTS if search == "learned" else querygen_bench.TESTS
        with output.progress("Queries") as update:
            tables = querygen_bench.query_generation_tables(
                _search(search, public),
                generated,
                with_request=with_request,
                request_first=request_first,
                baseline=baseline,
                tests=tests,
                progress=update,
            )
        _print_tables(tables, out)
        output.out.print("p-values are Holm-adjusted over the rows of all tables, per metric.")
    folders = run or [RUNS]
    logs, calibrations = query_logs.read_logs(folders), query_logs.read_calibrations(folders)
    if logs:
        output.out.print(query_logs.rewards_table(logs))
        record(out, facts=querygen_tables.draft_facts(logs))
    if calibrations:
        output.out.print(query_logs.calibrations_table(calibrations))
        record(out, querygen_tables.temperature_table(calibrations))
    if logs and (plot := figures_folder(out, plot)):
        _plot(logs, plot)


def _search(name: str, public: Path) -> "QuerySearch":
    from contextune.embed import default_embedder
    from contextune_lab.bench.querygen.search import LearnedQuerySearch, QuerySearch
    from contextune_lab.bench.untuned_embedder import untuned_embedder
    from contextune_lab.train.llm.querygen_data import querygen_data

    sets = querygen_data(public)["sets"]
    if name == "learned":
        return LearnedQuerySearch(sets, public, default_embedder())
    return QuerySearch(sets, default_embedder() if name == "tuned" else untuned_embedder())


def _print_report(public: Path, out: Path | None) -> None:
    from contextune.embed import default_embedder
    from contextune_lab.bench.bench_tables import slug
    from contextune_lab.bench.querygen.report import QueryGenerationReport
    from contextune_lab.bench.querygen.tables import docs_tables, gain_facts
    from contextune_lab.bench.untuned_embedder import untuned_embedder

    report = QueryGenerationReport(public, untuned=untuned_embedder(), tuned=default_embedder())
    for group in report.groups():
        output.out.rule(group.name, align="left")
        for number, tables in enumerate(group.parts, 1):
            part = (str(number),) if len(group.parts) > 1 else ()
            _print_tables(tables, subfolder(out, "querygen", slug(group.name), *part))
        output.out.print(f"p-values are Holm-adjusted over {group.comparisons} comparisons per metric.")
        record(out, *docs_tables(group), facts=gain_facts(group))
    for model, share in report.invented_names().items():
        output.out.print(f"{model}: {100 * share:.1f} % of the queries begin with an invented tool name")
        record(out, facts={f"querygen/invented names/{model}": 100 * share})


def _print_tables(tables: "dict[str, ResultTable]", out: Path | None) -> None:
    for title, table in tables.items():
        output.out.rule(title, align="left")
        output.print_results(table, out / title.replace(" ", "-").replace(",", "") if out else None)


def _plot(logs: "list[AlignmentIteration]", plot: Path) -> None:
    from contextune_lab.bench import plots
    from contextune_lab.bench.querygen import logs as query_logs

    plots.plot_curves(
        query_logs.recall_lines(logs),
        list(range(1, len(logs) + 1)),
        plot / "alignment.svg",
        title="Recall@5 over the iterations of alignment",
        x_label="iteration",
        y_label="Recall@5, %",
    )
    plots.plot_curves(
        query_logs.reward_lines(logs),
        [0.05 + 0.1 * n for n in range(10)],
        plot / "rewards.svg",
        title="Rewards of the drafts (MMRR)",
        x_label="reward",
        y_label="% of drafts",
    )
