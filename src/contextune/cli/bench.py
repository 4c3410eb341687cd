"""Commands that measure."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from contextune.bench import context as context_bench
from contextune.bench import embedder as embedder_bench
from contextune.bench import latency as latency_bench
from contextune.bench import store as store_bench
from contextune.bench.folds import bundled_folds
from contextune.bench.report import to_rich, write
from contextune.cli import show
from contextune.context import METHODS
from contextune.errors import ContextuneError
from contextune.sources import Persona, bundled_personas, read_personas

app = typer.Typer(help="Measure quality and speed.", no_args_is_help=True)

Personas = Annotated[Path | None, typer.Option(help="Folder of persona files; default: the bundled ones.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help="A method to measure; may be repeated.")]
Out = Annotated[Path | None, typer.Option(help="Folder for JSON, CSV and TREC files.")]


@app.command()
def context(personas: Personas = None, method: Methods = None, out: Out = None) -> None:
    """Print the paper's table of context retrieval, overall and by kind of query."""
    known = [*METHODS, context_bench.COT]
    methods = method or known
    if unknown := set(methods) - set(known):
        raise ContextuneError(f"there is no method {min(unknown)!r}: choose among {', '.join(known)}")
    people = _personas(personas)
    # the tuned embedders were trained for the bundled personas, fold by fold
    folds = bundled_folds(people) if personas is None and method is None else None
    with show.progress("Personas") as update:
        table = context_bench.context_table(people, methods, folds=folds, progress=update)
    for part in to_rich(table):
        show.out.print(part)
    if out:
        write(table, out)
        show.out.print(f"Written to {out}.", markup=False)


@app.command()
def speed(
    personas: Personas = None,
    method: Methods = None,
    items: Annotated[list[int] | None, typer.Option(help="Size of a store; may be repeated.")] = None,
) -> None:
    """Time one request, embedding included, over a persona and over a large store."""
    with show.progress("Timing") as update:
        results = latency_bench.measure(
            _personas(personas), method or list(METHODS), sizes=items or [10_000], progress=update
        )
    table = Table("method", "items", "median ms", "95 % ms", title="One request, embedding included")
    for row in results:
        table.add_row(row.method, f"{row.items:,}", f"{row.median:.1f}", f"{row.p95:.1f}")
    show.out.print(table)


@app.command()
def embedder() -> None:
    """Time the embedder against sentence-transformers, in one run (needs both, and the untuned weights)."""
    with show.err.status("Timing both embedders"):
        speed = embedder_bench.measure()
    _figures(
        "Embedder against sentence-transformers",
        {
            "one query, ms": speed.query_ms,
            "one query, sentence-transformers, ms": speed.reference_query_ms,
            "one query, times as fast": speed.query_speedup,
            "batches, texts/s": speed.texts_per_second,
            "batches, sentence-transformers, texts/s": speed.reference_texts_per_second,
            "batches, times as fast": speed.batch_speedup,
        },
    )


@app.command()
def store(items: Annotated[int, typer.Option(help="How many items to load.")] = 100_000) -> None:
    """Time loading and reading items."""
    with show.err.status("Loading"):
        result = store_bench.measure(items)
    names = {"load": "load, items/s", "read": "read, items/s", "single_put": "put one by one, items/s"}
    _figures(f"Store, {items:,} items", {names[key]: value for key, value in result.items()})


@app.command(name="all")
def everything() -> None:
    """Run every benchmark; one whose peer is not installed says so and the rest go on."""
    for run in (context, speed, store, embedder):
        try:
            run()
        except ContextuneError as error:
            show.error(str(error))


def _personas(folder: Path | None) -> list[Persona]:
    return list(read_personas(folder)) if folder else bundled_personas()


def _figures(title: str, figures: dict[str, float]) -> None:
    table = Table("what", "figure", title=title)
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}")
    show.out.print(table)
