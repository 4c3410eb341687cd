"""Benchmarks of speed: requests, embedder, store, large catalogues, import."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.errors import InvalidRequestError
from contextune_lab.cli.bench.options import Methods, Out, Personas, Plot, read_personas
from contextune_lab.cli.bench.recording import draw, record


def speed(
    personas: Personas = None,
    method: Methods = None,
    items: Annotated[
        list[int] | None, typer.Option(help="Number of items in the store; may be repeated.")
    ] = None,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Time one request with embedding, over a persona and large stores, in total and by stage."""
    from contextune.context import METHODS
    from contextune_lab.bench import speed_tables
    from contextune_lab.bench.speed import latency as latency_bench

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
    latencies = speed_tables.latency_table(results)
    record(out, latencies, part="speed")
    draw(out, plot, latencies)
    _past_requests(personas, out)


def _past_requests(personas: Path | None, out: Path | None) -> None:
    """Requests dated before the last uses of all items."""
    from contextune_lab.bench.speed import past_requests

    with output.progress("Requests as of last month") as update:
        past = past_requests.measure(read_personas(personas), progress=update)
    figures = {
        "median ms": past.median,
        "95 %": past.p95,
        "processor ms": past.processor,
        "texts embedded at most, with the request": past.texts,
    }
    print_figures(f"One request as of last month over {past.items:,} items", figures)
    record_figures(out, "past-requests", figures, "speed")


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
    from contextune_lab.bench.speed import changes as changes_bench

    with output.progress("Timing requests after changes") as update:
        results = changes_bench.measure(read_personas(personas), items=items, url=store, progress=update)
    figures: dict[str, float] = {}
    for row in results:
        figures[f"{row.situation}: median ms"] = row.median
        figures[f"{row.situation}: 95 %"] = row.p95
        figures[f"{row.situation}: processor ms"] = row.processor
    print_figures(f"One request over {items:,} items, after a change", figures)
    record_figures(out, "changes", figures)


def embedder(out: Out = None) -> None:
    """Time the embedder against sentence-transformers (needs the extra and the untuned weights)."""
    from contextune_lab.bench.speed import embedder as embedder_bench

    with output.progress("Timing both embedders") as update:
        speed = embedder_bench.measure(progress=update)
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
    from contextune_lab.bench.speed import store as store_bench

    with output.progress("Loading, reading and putting items") as update:
        result = store_bench.measure(items, url, progress=update)
    names = {"load": "load", "read": "read", "single_put": "put one by one"}
    figures = {f"{names[key]}, items per second": value for key, value in result.items()}
    print_figures(f"Store, {items:,} items", figures)
    record_figures(out, "store", figures)


def fleet(
    personas: Personas = None,
    items: Annotated[int, typer.Option(min=100, help="Number of items to embed.")] = 6000,
    workers: Annotated[int, typer.Option(min=1, help="Number of workers on Ray.")] = 2,
    out: Out = None,
) -> None:
    """Time embedding by workers on Ray against one process, and compare what they write.

    Every process has one thread. As many processes without Ray show what the machine can give.
    """
    from contextune_lab.bench.speed import fleet as fleet_bench

    with output.progress("Embedding in three ways") as update:
        speed = fleet_bench.measure(read_personas(personas), items=items, workers=workers, progress=update)
    figures = {
        "one process, texts per second": speed.one_process,
        "one process, items per second": speed.one_process * speed.items / speed.texts,
        f"{workers} processes without Ray, texts per second": speed.plain_processes,
        f"{workers} workers on Ray, texts per second": speed.workers,
        f"{workers} processes without Ray, times as fast as one": speed.possible_speedup,
        f"{workers} workers on Ray, times as fast as one process": speed.speedup,
        **{
            f"{name}, processor ms per text": value
            for name, value in zip(
                ("one process", f"{workers} processes without Ray", f"{workers} workers on Ray"),
                speed.cpu_ms,
                strict=True,
            )
        },
        "cores that Ray uses beside the workers": speed.other_cpu,
        "starting Ray, seconds": speed.starting,
        "starting workers and loading models, seconds": speed.workers_starting,
        "identical output": int(speed.identical),
    }
    print_figures(f"Embedding of {speed.items:,} items, {speed.texts:,} texts", figures)
    record_figures(out, "fleet", figures)


def scale(
    public: Annotated[Path, typer.Option(help="Folder with toolbench/toolenv.jsonl.gz.")],
    size: Annotated[
        list[int] | None, typer.Option(help="Number of tools in the catalogue; may be repeated.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="File that caches vectors between runs.")] = None,
    stored: Annotated[
        bool, typer.Option("--stored", help="Measure indexes on disk, by default of 1,000,000 tools.")
    ] = False,
    real: Annotated[
        int | None,
        typer.Option(
            min=10, help="With --stored or --catalog: embed so many tools, and make the others of them."
        ),
    ] = None,
    catalog: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Measure a catalogue of PostgreSQL, in an empty database."),
    ] = None,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Time tool search in catalogues of 1,000 to 1,000,000 tools."""
    from contextune_lab.bench import speed_tables
    from contextune_lab.bench.speed import large_catalogues as scale_bench
    from contextune_lab.bench.speed import stored_catalogues

    if catalog:
        from contextune_lab.bench.speed.postgres_catalogues import measure_postgres

        with output.progress("Embedding") as update:
            figures = measure_postgres(
                public, catalog, size[0] if size else 1_000_000, cache, update, real=real
            ).figures()
        print_figures("Catalogue in PostgreSQL", figures)
        record_figures(out, "scale-postgres", figures, "scale --catalog URL --public FOLDER --real 14000")
        return
    if stored:
        with output.progress("Embedding") as update:
            stored_rows = stored_catalogues.stored_rows(public, size or [1_000_000], cache, update, real=real)
        output.out.print(stored_catalogues.to_rich(stored_rows))
        record(out, speed_tables.stored_table(stored_rows), part="speed")
        return
    with output.progress("Catalogues") as update:
        rows = scale_bench.scale_rows(public, size or [1_000, 10_000, 47_000], cache, update)
    for table in scale_bench.to_rich(rows):
        output.out.print(table)
    tables = speed_tables.scale_tables(rows)
    record(out, *tables, part="speed")
    draw(out, plot, *tables)


def frameworks(
    public: Annotated[Path, typer.Option(help="Folder with toolbench.")],
    requests: Annotated[int, typer.Option(min=1, help="Requests of each kind.")] = 60,
    tools: Annotated[
        int | None, typer.Option(min=1, help="Only the first tools; default: all 11,332.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="File that caches vectors between runs.")] = None,
    out: Out = None,
) -> None:
    """Time tool search in ToolBench's tools beside that of FastMCP and Pydantic AI."""
    from contextune_lab.bench.speed.frameworks import frameworks_table, measure_frameworks
    from contextune_lab.docs.benchmark_tables import to_markdown

    with output.progress("Searching") as update:
        rows = measure_frameworks(public, requests=requests, tools=tools, cache=cache, progress=update)
    table = frameworks_table(rows)
    output.out.print(to_markdown(table), markup=False, highlight=False, soft_wrap=True)
    record(out, table, part="speed")


def import_(
    megabytes: Annotated[int, typer.Option(min=1, help="Size of the generated mailbox.")] = 1000,
    kind: Annotated[
        str | None,
        typer.Option(help="Only mails of this kind: plain, both, html, attached; default: a typical mix."),
    ] = None,
    out: Out = None,
) -> None:
    """Time the import of a large mailbox, and measure its peak memory."""
    from contextune_lab.bench.speed import import_mail as import_bench

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


def init(
    mails: Annotated[int, typer.Option(min=1, help="Mails of the generated mailbox.")] = 1000,
    out: Out = None,
) -> None:
    """Time `contextune init` over a mailbox, and the first answer after it."""
    from contextune_lab.bench.speed import first_answer

    with output.progress("Generating a mailbox") as update:
        times = first_answer.measure(mails, update)
    figures = {
        "start, and looking for files": times.scan,
        "import": times.importing,
        "embedding, and questions to try": times.embedding,
        "contextune init": times.init,
        "first contextune ask": times.first,
        "init to the first answer": times.total,
        "second contextune ask": times.second,
        "import and embedding, mails per second": times.mails / (times.importing + times.embedding),
    }
    print_figures(f"{times.mails:,} mails in {times.megabytes:,.0f} MB, in seconds", figures)
    record_figures(out, "init", figures)


def print_figures(title: str, figures: Mapping[str, float]) -> None:
    """Print a table of figures."""
    table = Table("what", "figure", title=title)
    for name, value in figures.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else f"{value:,.2f}")
    output.out.print(table)


def record_figures(out: Path | None, name: str, figures: Mapping[str, float], options: str = "") -> None:
    """Add the figures to a file of results."""
    from contextune_lab.bench.speed_tables import figures_table

    record(out, figures_table(name, f"contextune bench {options or name}", figures), part="speed")
