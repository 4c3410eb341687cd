"""Benchmarks of speed: requests, embedder, store, large catalogues, import."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.cli.lab.bench.options import Methods, Out, Personas, read_personas
from contextune.cli.lab.bench.recording import record
from contextune.errors import InvalidRequestError


def speed(
    personas: Personas = None,
    method: Methods = None,
    items: Annotated[
        list[int] | None, typer.Option(help="Number of items in the store; may be repeated.")
    ] = None,
    out: Out = None,
) -> None:
    """Time one request with embedding, over a persona and large stores, in total and by stage."""
    from contextune.context import METHODS
    from contextune.lab.bench import speed_tables
    from contextune.lab.bench.speed import latency as latency_bench

    with output.progress("Timing") as update:
        results = latency_bench.measure(
            read_personas(personas),
            method or list(METHODS),
            sizes=items or latency_bench.SIZES,
            progress=update,
        )
    table = Table("method", "items", "median ms", "95 % ms", title="One request, with embedding")
    for row in results:
        table.add_row(row.method, f"{row.items:,}", f"{row.median:.1f}", f"{row.p95:.1f}")
    output.out.print(table)
    record(out, speed_tables.latency_table(results), part="speed")


Url = Annotated[
    str | None, typer.Option("--store", help="postgresql://… of a store to measure; default: SQLite.")
]


def changes(
    personas: Personas = None,
    items: Annotated[int, typer.Option(min=1000, help="Number of items of the user.")] = 50_000,
    store: Url = None,
    out: Out = None,
) -> None:
    """Time the first request after a use, after an item and after opening, without embedding."""
    from contextune.lab.bench.speed import changes as changes_bench

    with output.err.status("Timing requests after changes"):
        results = changes_bench.measure(read_personas(personas), items=items, url=store)
    figures: dict[str, float] = {}
    for row in results:
        figures[f"{row.situation}: median ms"] = row.median
        figures[f"{row.situation}: 95 %"] = row.p95
    print_figures(f"One request over {items:,} items, after a change", figures)
    record_figures(out, "changes", figures)


def embedder(out: Out = None) -> None:
    """Time the embedder against sentence-transformers (needs the extra and the untuned weights)."""
    from contextune.lab.bench.speed import embedder as embedder_bench

    with output.err.status("Timing both embedders"):
        speed = embedder_bench.measure()
    figures = {
        "one query, ms": speed.query_ms,
        "one query, sentence-transformers, ms": speed.reference_query_ms,
        "one query, times as fast": speed.query_speedup,
        "batches, texts per second": speed.texts_per_second,
        "batches, sentence-transformers, texts per second": speed.reference_texts_per_second,
        "batches, times as fast": speed.batch_speedup,
    }
    print_figures("Embedder against sentence-transformers", figures)
    record_figures(out, "embedder", figures)


def store(
    items: Annotated[int, typer.Option(help="Number of items to load.")] = 100_000,
    url: Url = None,
    out: Out = None,
) -> None:
    """Time loading and reading items."""
    from contextune.lab.bench.speed import store as store_bench

    with output.err.status("Loading"):
        result = store_bench.measure(items, url)
    names = {"load": "load", "read": "read", "single_put": "put one by one"}
    figures = {f"{names[key]}, items per second": value for key, value in result.items()}
    print_figures(f"Store, {items:,} items", figures)
    record_figures(out, "store", figures)


def scale(
    public: Annotated[Path, typer.Option(help="Folder with toolbench/toolenv.jsonl.gz.")],
    size: Annotated[
        list[int] | None, typer.Option(help="Number of tools in the catalogue; may be repeated.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="File that caches vectors between runs.")] = None,
    out: Out = None,
) -> None:
    """Time tool search in catalogues of 1,000 to 1,000,000 tools."""
    from contextune.lab.bench import speed_tables
    from contextune.lab.bench.speed import large_catalogues as scale_bench

    with output.progress("Catalogues") as update:
        rows = scale_bench.scale_rows(public, size or [1_000, 10_000, 47_000], cache, update)
    for table in scale_bench.to_rich(rows):
        output.out.print(table)
    record(out, *speed_tables.scale_tables(rows), part="speed")


def import_(
    megabytes: Annotated[int, typer.Option(min=1, help="Size of the generated mailbox.")] = 1000,
    kind: Annotated[
        str | None,
        typer.Option(help="Only mails of this kind: plain, both, html, attached; default: a typical mix."),
    ] = None,
    out: Out = None,
) -> None:
    """Time the import of a large mailbox, and measure its peak memory."""
    from contextune.lab.bench.speed import import_mail as import_bench

    if kind is not None and kind not in import_bench.SHARES:
        raise InvalidRequestError(f"there is no kind {kind!r}: choose among {', '.join(import_bench.SHARES)}")
    with output.progress("Generating a mailbox") as update:
        speed = import_bench.measure(
            megabytes, progress=update, shares=import_bench.SHARES if kind is None else {kind: 1}
        )
    figures = {
        "reading, MB per second": speed.megabytes / speed.parsing,
        "reading, mails per second": speed.mails / speed.parsing,
        "into a store, MB per second": speed.megabytes / speed.importing,
        "importing again, MB per second": speed.megabytes / speed.again,
        "peak memory, MB": speed.memory,
    }
    print_figures(f"Import of {speed.mails:,} mails in {speed.megabytes:,.0f} MB", figures)
    record_figures(out, "import", figures)


def print_figures(title: str, figures: Mapping[str, float]) -> None:
    """Print a table of figures."""
    table = Table("what", "figure", title=title)
    for name, value in figures.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else f"{value:,.2f}")
    output.out.print(table)


def record_figures(out: Path | None, name: str, figures: Mapping[str, float], options: str = "") -> None:
    """Add the figures to a file of results."""
    from contextune.lab.bench.speed_tables import figures_table

    record(out, figures_table(name, f"contextune bench {options or name}", figures), part="speed")
