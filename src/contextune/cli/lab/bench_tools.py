"""Benchmarks of tool search, query generation and planning."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import output
from contextune.errors import ContextuneError

if TYPE_CHECKING:
    from contextune.embed import Embedder

Public = Annotated[
    Path | None, typer.Option(help="Folder with toolbench, toollens and metatool, which are not bundled.")
]
Vectors = Annotated[
    Path | None,
    typer.Option(help="With --public: file of their vectors by fold, from the embedder training."),
]
Out = Annotated[Path | None, typer.Option(help="Folder to write JSON, CSV and TREC files to.")]
Plot = Annotated[Path | None, typer.Option(help="Folder to write plots to (needs matplotlib).")]
Runs = Annotated[list[Path], typer.Option(help="Folder of a training run; may be repeated.")]


def tools(public: Public = None, vectors: Vectors = None, out: Out = None, plot: Plot = None) -> None:
    """Measure tool search on the bundled personas, with and without context."""
    from contextune.cli.lab.training_data import tool_data
    from contextune.lab.bench import plots
    from contextune.lab.bench.quality import tools as tools_bench
    from contextune.lab.train.embedder.fold_vectors import bundled_folds

    folds = bundled_folds()
    people, others = tool_data(public, vectors)
    with output.progress("Cross-validation") as update:
        rows = tools_bench.tool_rows(folds, people, others, _untuned(), progress=update)
    for by in ("kind", "application"):
        table = tools_bench.tool_table(people, rows, by=by)
        output.print_results(table, out / by if out else None)
    if plot:
        table = tools_bench.tool_table(people, rows)
        title = "The right one of 59 APIs, on unseen personas"
        plots.plot_recall(table, (1, 3, 5, 10), plot / "tools.svg", title=title)


def catalogues(
    public: Annotated[Path, typer.Option(help="Folder with toolbench, toollens and metatool.")],
    out: Out = None,
) -> None:
    """Measure tool search on the test sets of ToolBench, ToolLens and MetaTool."""
    from contextune.lab.bench.quality import public_catalogues as public_bench

    with output.progress("Catalogues") as update:
        tables = public_bench.public_tables(public, _untuned(), progress=update)
    for title, table in tables.items():
        output.out.rule(title, align="left")
        output.print_results(table, out / title.replace(" ", "-") if out else None)


def doubts(public: Public = None, vectors: Vectors = None, plot: Plot = None) -> None:
    """Measure how well requests that no tool serves, or that need context, are detected."""
    from contextune.cli.lab.training_data import tool_data
    from contextune.embed import default_embedder
    from contextune.lab.bench import plots
    from contextune.lab.bench.quality import abstention as abstention_bench

    people, others = tool_data(public, vectors)
    with output.progress("Cross-validation") as update:
        result = abstention_bench.measure_abstention(people, others, default_embedder(), progress=update)
    for table in abstention_bench.to_rich(result):
        output.out.print(table)
    if plot:
        plots.plot_reliability(result.bins, plot / "fits.svg")


def scale(
    public: Annotated[Path, typer.Option(help="Folder with toolbench/toolenv.jsonl.gz.")],
    size: Annotated[
        list[int] | None, typer.Option(help="Number of tools in the catalogue; may be repeated.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="File that caches vectors between runs.")] = None,
) -> None:
    """Time tool search in catalogues of 1,000 to 1,000,000 tools."""
    from contextune.lab.bench.speed import large_catalogues as scale_bench

    with output.progress("Catalogues") as update:
        rows = scale_bench.scale_rows(public, size or [1_000, 10_000, 47_000], cache, update)
    for table in scale_bench.to_rich(rows):
        output.out.print(table)


def querygen(
    public: Annotated[Path, typer.Option(help="Folder with toolbench, toollens and metatool.")],
    run: Runs,
    tuned: Annotated[bool, typer.Option(help="Use the tuned embedder.")] = False,
    with_request: Annotated[bool, typer.Option(help="Also search for the request itself.")] = True,
    request_first: Annotated[
        bool, typer.Option(help="Rank the results of the request first (the paper: last).")
    ] = True,
    out: Annotated[Path | None, typer.Option(help="Folder to write JSON, CSV and TREC files to.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Folder to write plots to (needs matplotlib).")] = None,
) -> None:
    """Print the paper's tables of query generation, from the queries of training runs."""
    from contextune.embed import default_embedder
    from contextune.lab.bench import plots
    from contextune.lab.bench.quality import query_generation as querygen_bench
    from contextune.lab.bench.untuned_embedder import untuned_embedder

    generated, logs = querygen_bench.read_runs(run), querygen_bench.read_logs(run)
    with output.progress("Catalogues") as update:
        search = querygen_bench.QuerySearch(
            public, default_embedder() if tuned else untuned_embedder(), update
        )
    with output.progress("Queries") as update:
        tables = querygen_bench.query_generation_tables(
            search, generated, with_request=with_request, request_first=request_first, progress=update
        )
    for title, table in tables.items():
        output.out.rule(title, align="left")
        output.print_results(table, out / title.replace(" ", "-").replace(",", "") if out else None)
    if logs:
        output.out.print(querygen_bench.rewards_table(logs))
    if plot and logs:
        plots.plot_curves(
            querygen_bench.recall_lines(logs),
            list(range(1, len(logs) + 1)),
            plot / "alignment.svg",
            title="Recall@5 over the iterations of alignment",
            x_label="iteration",
            y_label="Recall@5, %",
        )
        plots.plot_curves(
            querygen_bench.reward_lines(logs),
            [0.05 + 0.1 * n for n in range(10)],
            plot / "rewards.svg",
            title="Rewards of the drafts (MMRR)",
            x_label="reward",
            y_label="% of drafts",
        )


def plan(
    out: Annotated[
        Path | None, typer.Option(help="Folder to write plans.json to: figures and every plan.")
    ] = None,
    written: Annotated[
        Path | None,
        typer.Option(help="Also measure the recorded answers of a language model."),
    ] = None,
) -> None:
    """Measure how often the planned call is right, with and without retrieval and context."""
    from contextune.cli.lab.training_data import chosen_tools, plan_data
    from contextune.lab.bench.quality import plan_report
    from contextune.lab.bench.quality import plans as plan_bench
    from contextune.lab.bench.quality.written_plans import WrittenPlans, read_written_plans
    from contextune.lab.train.embedder.fold_vectors import bundled_folds
    from contextune.lab.train.rankers import arguments as recipe
    from contextune.plan.pointer.planner import PointerPlanner
    from contextune.plan.pointer.scorer import ArgumentScorer

    data = plan_data(bundled_folds())
    chosen = chosen_tools(data)
    with output.progress("Argument scorers") as update:
        fitted = recipe.fit_by_fold(data.lessons, progress=update)
    planners = {
        fold: PointerPlanner(
            ArgumentScorer(
                model.ranker, model.statistics, recipe.fit_confidence(data.lessons, fitted, fold), {}
            )
        )
        for fold, model in fitted.items()
    }
    measured = [request for request in data.requests if request.measured]
    planner_functions: dict[str, plan_bench.PlanFunction] = {"light": plan_bench.pointer_plans(planners)}
    recorded = WrittenPlans(read_written_plans(written), planners) if written else None
    if recorded:
        planner_functions["language model"] = recorded
    for name, plan_function in planner_functions.items():
        with output.progress("Planning") as update:
            rows = plan_bench.plan_rows(measured, chosen, plan_function, data.tools, progress=update)
        output.out.rule(f"The {name} planner" if recorded else "", align="left")
        for table in plan_report.to_rich(rows):
            output.out.print(table)
        if out:
            plan_report.write_json(rows, out / name.replace(" ", "-") if recorded else out)
    if recorded:
        output.out.print(
            f"{recorded.fallbacks} calls were invalid and replaced by those of the light planner."
        )


def _untuned() -> "Embedder | None":
    from contextune.lab.bench.untuned_embedder import untuned_embedder

    try:
        return untuned_embedder()
    except ContextuneError as error:
        output.print_error(f"the untuned row is left out: {error}")
        return None
