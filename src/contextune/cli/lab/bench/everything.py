"""`contextune bench all` and `bench docs`: every table of the docs, from one command and one file."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from contextune.cli import output
from contextune.cli.lab.bench.context import budget, context, habits, history
from contextune.cli.lab.bench.options import Public, Vectors
from contextune.cli.lab.bench.planning import plan
from contextune.cli.lab.bench.query_generation import querygen
from contextune.cli.lab.bench.serve import serve
from contextune.cli.lab.bench.speed import changes, embedder, fleet, import_, init, scale, speed, store
from contextune.cli.lab.bench.tools import catalogues, corrections, doubts, tools, unseen
from contextune.errors import ContextuneError

Benchmark = tuple[str, Callable[[], None]]
_ANSWERS = Path("runs/plan/answers.jsonl.gz")
_PAGES = (Path("README.md"), Path("docs/benchmarks.md"))


def benchmarks(
    out: Path | None, public: Path | None, data: Path | None, vectors: Path | None
) -> list[Benchmark]:
    """The benchmarks that the given folders allow, with the options of the docs."""
    written = _ANSWERS if _ANSWERS.exists() else None
    catalogs = public if vectors else None  # tools are trained on public catalogues only with their vectors
    runs: list[Benchmark] = [
        ("context", partial(context, out=out, ablations=True, data=data)),
        ("budget", partial(budget, out=out)),
        ("habits", partial(habits, out=out)),
        ("corrections", partial(corrections, out=out)),
        ("tools", partial(tools, catalogs, vectors, out=out)),
        ("doubts", partial(doubts, catalogs, vectors, out=out)),
        ("plan", partial(plan, out=out, written=written, calls=out / "calls" if out else None)),
    ]
    if data:
        runs.append(("history", partial(history, data, out=out)))
    if catalogs:
        runs.append(("unseen", partial(unseen, catalogs, vectors, out=out)))
    if public:
        runs += [
            ("catalogues", partial(catalogues, public, out=out)),
            ("querygen", partial(querygen, public, out=out)),
        ]
    # timings last: nothing of the above may still run beside them
    runs += [
        ("speed", partial(speed, out=out)),
        ("changes", partial(changes, out=out)),
        ("store", partial(store, out=out)),
        ("embedder", partial(embedder, out=out)),
        ("fleet", partial(fleet, out=out)),
        ("serve", partial(serve, out=out)),
        ("import", partial(import_, out=out)),
        ("init", partial(init, out=out)),
    ]
    if public:
        runs.append(("scale", partial(scale, public, out=out)))
    return runs


def run_all(runs: Sequence[Benchmark]) -> list[str]:
    """Run benchmarks one after the other; returns the names of those that failed."""
    failed: list[str] = []
    for name, run in runs:
        output.out.rule(name, align="left")
        try:
            run()
        except ContextuneError as error:
            failed.append(name)
            output.print_error(f"{name}: {error}")
        except Exception as error:  # an unforeseen error must not cost the hours of the others
            failed.append(name)
            output.print_error(f"{name}: {type(error).__name__}: {error}")
    return failed


def everything(
    out: Annotated[
        Path | None, typer.Option(help="Folder to write results.json, plots, CSV and TREC files to.")
    ] = None,
    public: Public = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with workbench, ikat and mudoco; adds them to `context`, runs `history`."),
    ] = None,
    vectors: Vectors = None,
    date: Annotated[str | None, typer.Option(help="Date to note in results.json.")] = None,
) -> None:
    """Run every benchmark, for hours; --public and --data add those on data that is not bundled.

    A benchmark that fails is reported, and the others still run; the exit status is then 1. Run it in the
    repository, which holds the recorded runs of language models.
    """
    from contextune.lab.bench.environment import environment
    from contextune.lab.bench.results_file import FILE_NAME, BenchResults

    if out:
        BenchResults(dict(environment(date))).write(out / FILE_NAME)
    failed = run_all(benchmarks(out, public, data, vectors))
    if failed:
        output.print_error(f"{len(failed)} benchmarks failed: {', '.join(failed)}")
        raise typer.Exit(1)


def docs(
    results: Annotated[Path, typer.Argument(help="File to take the figures from.")] = Path(
        "docs/benchmarks.json"
    ),
    page: Annotated[
        list[Path] | None,
        typer.Option(help="Page to update; may be repeated. Default: README.md and docs/benchmarks.md."),
    ] = None,
) -> None:
    """Write the tables and numbers of a results file into the docs."""
    from contextune.lab.bench.results_file import BenchResults
    from contextune.lab.docs.benchmark_tables import write_pages

    changed = write_pages(BenchResults.read(results), page or _PAGES)
    output.out.print(f"Updated: {', '.join(map(str, changed))}." if changed else "Nothing has changed.")


def figures(
    results: Annotated[Path, typer.Argument(help="File to take the figures from.")] = Path(
        "docs/benchmarks.json"
    ),
    plot: Annotated[Path, typer.Option(help="Folder to write plots to (needs matplotlib).")] = Path(
        "docs/figures"
    ),
) -> None:
    """Draw the curves of a results file: latency, sizes of catalogues and stores, token budgets."""
    from contextune.lab.bench.figures import draw_results
    from contextune.lab.bench.results_file import BenchResults

    files = draw_results(BenchResults.read(results), plot)
    output.out.print(f"Drawn: {', '.join(map(str, files)) or 'nothing'}.", markup=False, highlight=False)
