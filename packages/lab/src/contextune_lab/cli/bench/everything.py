"""`contextune bench all` and `bench docs`: every table of the docs, from one command and one file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from contextune.cli import output
from contextune.errors import ContextuneError, MissingExtraError
from contextune_lab.cli.bench.cluster import cluster, growth
from contextune_lab.cli.bench.commands import commands
from contextune_lab.cli.bench.context import budget, context, habits, history
from contextune_lab.cli.bench.options import Public, Vectors
from contextune_lab.cli.bench.planning import plan
from contextune_lab.cli.bench.query_generation import querygen
from contextune_lab.cli.bench.serve import serve
from contextune_lab.cli.bench.speed import (
    changes,
    embedder,
    fleet,
    frameworks,
    import_,
    init,
    scale,
    speed,
    store,
)
from contextune_lab.cli.bench.tools import catalogues, corrections, doubts, published, tools, unseen
from contextune_lab.cli.bench.worlds import worlds

_ANSWERS = Path("packages/lab/runs/plan/answers.jsonl.gz")
_REAL_TOOLS = 14_000
"""Tools that are embedded for the index on disk; the others are made of them."""


class MissingInputError(ContextuneError):
    """What another run makes is not there."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A command with the options of the docs, and the tables that it records for them."""

    name: str
    run: Callable[[], None]
    tables: Sequence[str] = ()


def benchmarks(
    out: Path | None, public: Path | None, data: Path | None, vectors: Path | None
) -> list[Benchmark]:
    """The benchmarks that the given folders allow, with the options of the docs."""
    return [*_quality(out, public, data, vectors), *_timings(out, public)]


def _quality(
    out: Path | None, public: Path | None, data: Path | None, vectors: Path | None
) -> list[Benchmark]:
    written = _ANSWERS if _ANSWERS.exists() else None
    catalogs = public if vectors else None  # tools are trained on public catalogues only with their vectors
    runs = [
        Benchmark("context", partial(context, out=out, ablations=True, data=data), _CONTEXT),
        Benchmark("budget", partial(budget, out=out), ["budget"]),
        Benchmark("habits", partial(habits, out=out), ["habits"]),
        Benchmark("corrections", partial(corrections, out=out), ["corrections"]),
        Benchmark("tools", partial(tools, catalogs, vectors, out=out), _TOOLS),
        Benchmark("doubts", partial(doubts, catalogs, vectors, out=out), ["doubts"]),
        Benchmark("plan", partial(plan, out=out, written=written), _PLAN),
    ]
    if data:
        runs += [
            Benchmark("history", partial(history, data, out=out), _HISTORY),
            Benchmark("worlds", partial(worlds, data / "worlds", renamed=True, out=out), _WORLDS),
            Benchmark("worlds --held-out", partial(_held_out, data, out), _HELD_OUT),
            Benchmark("worlds --rules", partial(worlds, data / "worlds", rules=True, out=out), _RULES),
            Benchmark("commands", partial(commands, data, renamed=True, out=out), _COMMANDS),
        ]
    if catalogs:
        runs.append(Benchmark("unseen", partial(unseen, catalogs, vectors, out=out), ["unseen"]))
    if public:
        runs += [
            Benchmark("catalogues", partial(catalogues, public, out=out), ["catalogues"]),
            Benchmark("published", partial(_published, public, out), ["livemcp", "toolret"]),
            Benchmark("querygen", partial(querygen, public, out=out), _QUERYGEN),
        ]
    return runs


def _timings(out: Path | None, public: Path | None) -> list[Benchmark]:
    """Run after all others, so that nothing runs beside them."""
    runs = [
        Benchmark("speed", partial(speed, out=out), ["latency", "past-requests"]),
        Benchmark("changes", partial(changes, out=out), ["changes"]),
        Benchmark("store", partial(store, out=out), ["store"]),
        Benchmark("embedder", partial(embedder, out=out), ["embedder"]),
        Benchmark("fleet", partial(fleet, out=out), ["fleet"]),
        Benchmark("serve", partial(serve, out=out), ["serve"]),
        Benchmark("serve --overload", partial(serve, overload=[1.0, 2.0, 3.0], out=out), ["serve-overload"]),
        Benchmark("serve --flood", partial(serve, requests=400, flood=True, out=out), ["serve-flood"]),
        Benchmark("import", partial(import_, out=out), ["import"]),
        Benchmark("init", partial(init, out=out), ["init"]),
    ]
    if public:
        stored = partial(scale, public, stored=True, real=_REAL_TOOLS, out=out)
        runs += [
            Benchmark("scale", partial(scale, public, out=out), ["scale-search", "scale-build"]),
            Benchmark("scale --stored", stored, ["scale-stored"]),
            Benchmark("frameworks", partial(frameworks, public, out=out), ["frameworks"]),
        ]
    costs = out / "costs.json" if out else None
    runs.append(Benchmark("cluster", partial(cluster, measurements=costs, out=out), ["cluster"]))
    if costs:
        runs.append(Benchmark("growth", partial(_growth, costs, out), ["growth", "growth-needs"]))
    return runs


def _held_out(data: Path, out: Path | None) -> None:
    if not (data / "rankers").is_dir():
        raise MissingInputError(f"{data / 'rankers'}: no folder of rankers that leave out each world")
    worlds(data / "worlds", held_out=data / "rankers", out=out)


def _published(public: Path, out: Path | None) -> None:
    livemcp, toolret = (
        public / name if (public / name).is_dir() else None for name in ("livemcp", "toolret")
    )
    if not livemcp and not toolret:
        raise MissingInputError(f"{public} has no folder livemcp or toolret")
    published(livemcp, toolret, out=out)


def _growth(costs: Path, out: Path | None) -> None:
    if not costs.exists():
        raise MissingInputError("computed from what `bench cluster` measures, which did not run")
    growth(costs, check=True, out=out)


_WORLDS = (
    *(f"worlds-{part}{table}" for part in ("bundled", "own") for table in ("", "-by-kind", "-retrieval")),
    *("worlds-unserved", "worlds-steps", "worlds-renamed", "worlds-time"),
)
_HELD_OUT = ("worlds-held-out", "worlds-held-out-items")
_RULES = ("worlds-rules",)
_COMMANDS = ("commands-slurp", "commands-smcalflow")
_CONTEXT = (
    "context", "context-by-kind", "context-test", "context-titles", "context-explicit", "context-ablations",
    "context-haystack-1000", "context-haystack-1000-by-kind", "context-explicit-1000",
    "context-haystack-10000", "context-haystack-10000-by-kind", "context-explicit-10000",
    "context-candidates", "context-public", "context-public-mean",
)  # fmt: skip
_TOOLS = ("tools", "tools-by-kind", "tools-by-application", "tools-test")
_PLANNERS = ("light", "language-model", "language-model-raw")
_PLAN = (
    *(f"plan-{planner}{part}" for planner in _PLANNERS for part in ("", "-errors", "-by-kind")),
    "plan-answers",
    "plan-budgets",
)
_HISTORY = tuple(
    f"history-{which}-{name}{part}"
    for which in ("untuned", "tuned")
    for name in ("mudoco", "ikat", "ikat-topic-changed")
    for part in ("", "-by-kind")
)
_QUERYGEN = (
    "querygen-models", "querygen-models-recall", "querygen-combination", "querygen-filters",
    "querygen-intents", "querygen-names", "querygen-large-model", "querygen-tuned", "querygen-temperatures",
)  # fmt: skip


def run_all(runs: Sequence[Benchmark]) -> tuple[list[str], list[str]]:
    """Run benchmarks one after the other; returns the names of those that failed, and of those skipped.

    A benchmark is skipped if the machine lacks an extra, a server or the output of another run.
    """
    from contextune_lab.bench.speed.cluster.processes import MissingServerError

    failed: list[str] = []
    skipped: list[str] = []
    for benchmark in runs:
        output.out.rule(benchmark.name, align="left")
        try:
            benchmark.run()
        except (MissingExtraError, MissingServerError, MissingInputError) as error:
            skipped.append(benchmark.name)
            output.print_error(f"{benchmark.name}: skipped: {error}")
        except ContextuneError as error:
            failed.append(benchmark.name)
            output.print_error(f"{benchmark.name}: {error}")
        except Exception as error:  # an unforeseen error must not cost the hours of the others
            failed.append(benchmark.name)
            output.print_error(f"{benchmark.name}: {type(error).__name__}: {error}")
    return failed, skipped


def everything(
    out: Annotated[
        Path | None, typer.Option(help="Folder to write results.json, plots, CSV and TREC files to.")
    ] = None,
    public: Public = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with workbench, ikat and mudoco, which are added to `context`; runs `history`, and "
            "`worlds` and `commands` on its folders worlds, slurp and smcalflow."
        ),
    ] = None,
    vectors: Vectors = None,
    date: Annotated[str | None, typer.Option(help="Date to note in results.json.")] = None,
) -> None:
    """Run every benchmark, for hours; --public and --data add those on data that is not bundled.

    A benchmark that fails is reported, and the others still run; the exit status is then 1. One that needs
    an extra or a server which is missing is skipped. Run it in the repository, which holds the recorded runs
    of language models.
    """
    from contextune_lab.bench.environment import environment
    from contextune_lab.bench.results_file import FILE_NAME, BenchResults

    if out:
        BenchResults(dict(environment(date))).write(out / FILE_NAME)
    failed, skipped = run_all(benchmarks(out, public, data, vectors))
    if skipped:
        output.print_error(f"{len(skipped)} benchmarks skipped: {', '.join(skipped)}")
    if failed:
        output.print_error(f"{len(failed)} benchmarks failed: {', '.join(failed)}")
        raise typer.Exit(1)


def docs(
    results: Annotated[Path, typer.Argument(help="File to take the figures from.")] = Path(
        "docs/benchmarks.json"
    ),
    page: Annotated[
        list[Path] | None,
        typer.Option(help="Page to update; may be repeated. Default: README.md and all pages of docs."),
    ] = None,
) -> None:
    """Write the tables and numbers of a results file into the docs."""
    from contextune_lab.bench.results_file import BenchResults
    from contextune_lab.docs.benchmark_tables import write_pages

    pages = page or [Path("README.md"), *sorted(Path("docs").glob("*.md"))]
    changed = write_pages(BenchResults.read(results), pages)
    output.out.print(f"Updated: {', '.join(map(str, changed))}." if changed else "Nothing has changed.")


def figures(
    results: Annotated[Path, typer.Argument(help="File to take the figures from.")] = Path(
        "docs/benchmarks.json"
    ),
    plot: Annotated[Path, typer.Option(help="Folder to write plots to (needs matplotlib).")] = Path(
        "docs/figures"
    ),
) -> None:
    """Draw the curves of a results file: recall of tools, latency, sizes, token budgets."""
    from contextune_lab.bench.figures import draw_results
    from contextune_lab.bench.results_file import BenchResults

    files = draw_results(BenchResults.read(results), plot)
    output.out.print(f"Drawn: {', '.join(map(str, files)) or 'nothing'}.", markup=False, highlight=False)
