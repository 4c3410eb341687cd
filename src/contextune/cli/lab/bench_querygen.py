"""The command that measures query generation."""

from pathlib import Path
from typing import Annotated

import typer

from contextune.cli import output
from contextune.embed import default_embedder
from contextune.lab.bench import plots
from contextune.lab.bench.quality import query_generation as bench
from contextune.lab.bench.untuned_embedder import untuned_embedder

Runs = Annotated[list[Path], typer.Option(help="Folder of a training run; may be repeated.")]


def add_to(app: typer.Typer) -> None:
    """Hang this module's command on the group."""
    app.command()(querygen)


def querygen(
    public: Annotated[Path, typer.Option(help="Folder of toolbench, toollens and metatool.")],
    run: Runs,
    tuned: Annotated[bool, typer.Option(help="Search with the tuned embedder.")] = False,
    with_request: Annotated[bool, typer.Option(help="Search for the request itself as well.")] = True,
    request_first: Annotated[bool, typer.Option(help="Its list comes first; the paper's comes last.")] = True,
    out: Annotated[Path | None, typer.Option(help="Folder for JSON, CSV and TREC files.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Folder to draw figures into (needs matplotlib).")] = None,
) -> None:
    """Search with what language models wrote in training runs, and print the paper's tables."""
    written, logs = bench.read_runs(run), bench.read_logs(run)
    with output.progress("Catalogues") as update:
        searched = bench.QuerySearch(public, default_embedder() if tuned else untuned_embedder(), update)
    with output.progress("Queries") as update:
        found = bench.tables(
            searched, written, with_request=with_request, request_first=request_first, progress=update
        )
    for title, table in found.items():
        output.out.rule(title, align="left")
        output.results(table, out / title.replace(" ", "-").replace(",", "") if out else None)
    if logs:
        output.out.print(bench.rewards_table(logs))
    if plot and logs:
        plots.curves(
            bench.recall_lines(logs),
            list(range(1, len(logs) + 1)),
            plot / "alignment.svg",
            title="Recall@5 over the iterations of alignment",
            across="iteration",
            up="Recall@5, %",
        )
        plots.curves(
            bench.reward_lines(logs),
            [0.05 + 0.1 * n for n in range(10)],
            plot / "rewards.svg",
            title="Rewards of the drafts (MMRR)",
            across="reward",
            up="% of drafts",
        )
