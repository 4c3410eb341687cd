"""`contextune bench`: the benchmarks of quality and speed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.lab import bench_tools
from contextune.cli.options import DEFAULT_METHOD
from contextune.errors import ContextuneError, InvalidRequestError

if TYPE_CHECKING:
    from contextune.datasets import Persona
    from contextune.evaluate.metrics import Run

app = command_group(help="Measure quality and speed.")
for _command in (
    bench_tools.tools, bench_tools.catalogues, bench_tools.doubts, bench_tools.scale, bench_tools.querygen,
    bench_tools.plan,
):  # fmt: skip
    app.command()(_command)

Personas = Annotated[
    Path | None, typer.Option(help="Folder of persona files; default: the bundled personas.")
]
Methods = Annotated[list[str] | None, typer.Option("--method", help="Method to measure; may be repeated.")]
Data = Annotated[Path, typer.Option(help="Folder with ikat and mudoco, which are not bundled.")]
Out = Annotated[Path | None, typer.Option(help="Folder to write JSON, CSV and TREC files to.")]

_RECALL = ("recall@3", "recall@5", "recall@10")


@app.command()
def context(
    personas: Personas = None,
    method: Methods = None,
    out: Out = None,
    ablations: Annotated[
        bool, typer.Option(help="Also measure the ranker without each of its parts.")
    ] = False,
    haystack: Annotated[
        list[int] | None,
        typer.Option(help="Also measure each persona among this many items; may be repeated."),
    ] = None,
    cot: Annotated[bool, typer.Option(help="Also measure CoT by the configured language model.")] = False,
) -> None:
    """Measure context retrieval as in the paper, overall and by kind of query.

    On the bundled personas, trained models are cross-validated. With --personas or --method,
    the methods run as shipped.
    """
    from contextune.context import METHODS
    from contextune.lab.bench.quality import context as context_bench

    if personas is None and method is None:
        _whole_table(out, with_ablations=ablations, haystacks=haystack or [], with_cot=cot)
        return
    if ablations or haystack or cot:
        raise ContextuneError(
            "--ablations, --haystack and --cot run on the bundled personas with all methods: "
            "drop --personas and --method"
        )
    available = [*METHODS, context_bench.COT]
    methods = method or available
    if unknown := set(methods) - set(available):
        raise ContextuneError(f"there is no method {min(unknown)!r}: choose among {', '.join(available)}")
    people = _personas(personas)
    with output.progress("Personas") as update:
        runs = context_bench.run_methods(people, methods, progress=update)
    rows = {context_bench.TITLES[name]: run for name, run in runs.items()}
    output.print_results(context_bench.context_table(people, rows), out)


def _whole_table(out: Path | None, *, with_ablations: bool, haystacks: list[int], with_cot: bool) -> None:
    from contextune.context.chain_of_thought import ChainOfThought
    from contextune.lab.bench.quality import ablations as ablations_bench
    from contextune.lab.bench.quality import context as context_bench
    from contextune.lab.bench.quality import haystack as haystack_bench
    from contextune.lab.bench.untuned_embedder import untuned_embedder
    from contextune.lab.train.embedder.fold_vectors import bundled_folds
    from contextune.lab.train.rankers.context import FeaturedExamples, cross_validate
    from contextune.lab.train.rankers.context_examples import from_folds
    from contextune.llm.from_env import required_chat

    folds = bundled_folds()
    chat = required_chat() if with_cot else None
    rows: dict[str, Run] = {}
    try:
        with output.progress("Untuned methods") as update:
            rows |= context_bench.untuned_rows(folds.personas, untuned_embedder(), progress=update)
    except ContextuneError as error:
        output.print_error(f"the untuned rows are left out: {error}")
    if chat:
        chain = ChainOfThought(chat)
        with output.progress("CoT by the language model") as update:
            row = context_bench.language_model_cot_row(
                folds.personas, untuned_embedder(), chain, progress=update
            )
        rows[f"CoT by {chat.name}"] = row
        output.out.print(f"of {len(row)} requests, {chain.failures} were searched without CoT")
    with output.progress("Signals") as update:
        data = FeaturedExamples.build(from_folds(folds), progress=update)
    with output.progress("Cross-validation") as update:
        out_of_fold = cross_validate(data, progress=update)
    rows |= context_bench.tuned_rows(folds, out_of_fold)
    output.print_results(context_bench.context_table(folds.personas, rows), out)
    if with_ablations:
        with output.progress("Ablations") as update:
            parts = ablations_bench.ablations(data, out_of_fold, progress=update)
        table = context_bench.context_table(folds.personas, parts, metrics=_RECALL)
        output.print_results(table, out / "ablations" if out else None)
    for size in haystacks:
        with output.progress(f"Among {size:,} items") as update:
            among = haystack_bench.haystack_rows(folds, data, size, progress=update)
        output.out.rule(f"{size:,} items per persona", align="left")
        table = context_bench.context_table(folds.personas, among, metrics=_RECALL)
        output.print_results(table, out / f"haystack-{size}" if out else None)


@app.command()
def budget(
    personas: Personas = None,
    method: Annotated[str, typer.Option(help="How to rank items.")] = DEFAULT_METHOD,
) -> None:
    """Measure how many facts that a call needs fit in a token budget."""
    from contextune.lab.bench.quality import prompt_budget as budget_bench

    with output.progress("Personas") as update:
        table = budget_bench.budget_table(_personas(personas), progress=update, name=method)
    output.out.print(budget_bench.to_rich(table))


@app.command()
def history(data: Data, out: Out = None) -> None:
    """Measure what the conversation history adds, on iKAT and MuDoCo."""
    from contextune.lab.bench.quality import conversation_history as history_bench

    with output.progress("Texts") as update:
        tables = history_bench.history_tables(data, progress=update)
    for name, table in tables.items():
        output.out.rule(name, align="left")
        output.print_results(table, out / name if out else None)


@app.command()
def habits(
    personas: Personas = None,
    plot: Annotated[Path | None, typer.Option(help="Folder to write the plot to (needs matplotlib).")] = None,
) -> None:
    """Measure how fast the ranking follows a simulated user whose habit changes."""
    from contextune.lab.bench import plots
    from contextune.lab.bench.quality import habit_change as habits_bench

    with output.progress("Users") as update:
        ranks = habits_bench.simulate_habit_change(_personas(personas), progress=update)
    above, first = habits_bench.leading_shares(ranks)
    table = Table("mornings recorded", "new song above the old", "new song first")
    for number, shares in enumerate(zip(above, first, strict=True)):
        table.add_row(str(number), *(f"{100 * share:.0f} %" for share in shares))
    output.out.print(table)
    if plot:
        plots.plot_curves(
            {"new song above the old": above, "new song first": first},
            range(len(above)),
            plot / "habits.svg",
            title="Following a habit that changes",
            x_label="mornings recorded",
            y_label="share of users",
        )


@app.command()
def speed(
    personas: Personas = None,
    method: Methods = None,
    items: Annotated[
        list[int] | None, typer.Option(help="Number of items in the store; may be repeated.")
    ] = None,
) -> None:
    """Time one request with embedding, over a persona and large stores, in total and by stage."""
    from contextune.context import METHODS
    from contextune.lab.bench.speed import latency as latency_bench

    with output.progress("Timing") as update:
        results = latency_bench.measure(
            _personas(personas), method or list(METHODS), sizes=items or latency_bench.SIZES, progress=update
        )
    table = Table("method", "items", "median ms", "95 % ms", title="One request, with embedding")
    for row in results:
        table.add_row(row.method, f"{row.items:,}", f"{row.median:.1f}", f"{row.p95:.1f}")
    output.out.print(table)


@app.command()
def embedder() -> None:
    """Time the embedder against sentence-transformers (needs the extra and the untuned weights)."""
    from contextune.lab.bench.speed import embedder as embedder_bench

    with output.err.status("Timing both embedders"):
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
def store(items: Annotated[int, typer.Option(help="Number of items to load.")] = 100_000) -> None:
    """Time loading and reading items."""
    from contextune.lab.bench.speed import store as store_bench

    with output.err.status("Loading"):
        result = store_bench.measure(items)
    names = {"load": "load, items/s", "read": "read, items/s", "single_put": "put one by one, items/s"}
    _figures(f"Store, {items:,} items", {names[key]: value for key, value in result.items()})


@app.command()
def serve(
    users: Annotated[int, typer.Option(min=1, help="Number of users, copies of the bundled personas.")] = 60,
    requests: Annotated[int, typer.Option(min=1, help="Number of requests.")] = 2000,
    clients: Annotated[int, typer.Option(min=1, help="Number of parallel clients.")] = 8,
    rate: Annotated[float | None, typer.Option(help="Requests per second; default: unlimited.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes of the service.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads per process.")] = None,
    fresh: Annotated[bool, typer.Option(help="Never repeat a request; --no-fresh repeats them.")] = True,
) -> None:
    """Load-test the HTTP service with many users, and look for items of other users in the answers."""
    from contextune.datasets import bundled_personas
    from contextune.lab.bench.speed import http_load as http_bench

    profile = http_bench.LoadProfile(requests, clients, rate, fresh)
    personas = bundled_personas()[: min(users, 20)]  # more would only take longer to embed
    with output.progress("Requests") as update:
        load = http_bench.measure(
            personas, profile, users=users, workers=workers, threads=threads, progress=update
        )
    table = Table("what", "figure", title=f"{load.requests:,} requests for context of {load.users:,} users")
    table.add_row("requests/s", f"{load.rate:.1f}")
    for name, value in {"median": load.p50, "95 %": load.p95, "99 %": load.p99}.items():
        table.add_row(f"{name}, ms", f"{value:.1f}")
    table.add_row("items in the answers", f"{load.items:,}")
    table.add_row("items of other users", f"{load.leaks:,}")
    table.add_row("failed requests", f"{load.failures:,}")
    output.out.print(table)
    if load.leaks:
        raise typer.Exit(1)


@app.command("import")
def import_(
    megabytes: Annotated[int, typer.Option(min=1, help="Size of the generated mailbox.")] = 1000,
    kind: Annotated[
        str | None,
        typer.Option(help="Only mails of this kind: plain, both, html, attached; default: a typical mix."),
    ] = None,
) -> None:
    """Time the import of a large mailbox, and measure its peak memory."""
    from contextune.lab.bench.speed import import_mail as import_bench

    if kind is not None and kind not in import_bench.SHARES:
        raise InvalidRequestError(f"there is no kind {kind!r}: choose among {', '.join(import_bench.SHARES)}")
    with output.progress("Generating a mailbox") as update:
        speed = import_bench.measure(
            megabytes, progress=update, shares=import_bench.SHARES if kind is None else {kind: 1}
        )
    table = Table("what", "figure", title=f"Import of {speed.mails:,} mails in {speed.megabytes:,.0f} MB")
    table.add_row("reading, MB/s", f"{speed.megabytes / speed.parsing:.1f}")
    table.add_row("reading, mails/s", f"{speed.mails / speed.parsing:,.0f}")
    table.add_row("into a store, MB/s", f"{speed.megabytes / speed.importing:.1f}")
    table.add_row("importing again, MB/s", f"{speed.megabytes / speed.again:.1f}")
    table.add_row("peak memory, MB", f"{speed.memory:.0f}")
    output.out.print(table)


ALONE: tuple[Callable[[], None], ...] = (
    context,
    budget,
    habits,
    bench_tools.tools,
    bench_tools.doubts,
    bench_tools.plan,
    speed,
    store,
    embedder,
    serve,
    import_,
)
"""Benchmarks that need no external data."""
PUBLIC: tuple[Callable[[Path], None], ...] = (bench_tools.catalogues, bench_tools.scale)
"""Benchmarks that need the public catalogues."""


@app.command(name="all")
def everything(
    public: Annotated[
        Path | None,
        typer.Option(help="Folder with toolbench, toollens and metatool; also runs the benchmarks on them."),
    ] = None,
) -> None:
    """Run every benchmark that needs no external data; this takes long.

    A benchmark that fails is reported, and the others still run.
    """
    runs = [(run.__name__, run) for run in ALONE]
    if public:
        runs += [(run.__name__, partial(run, public)) for run in PUBLIC]
    for name, run in runs:
        output.out.rule(name.strip("_"), align="left")
        try:
            run()
        except ContextuneError as error:
            output.print_error(str(error))


def _personas(folder: Path | None) -> "list[Persona]":
    from contextune.datasets import bundled_personas, read_personas

    return list(read_personas(folder)) if folder else bundled_personas()


def _figures(title: str, figures: dict[str, float]) -> None:
    table = Table("what", "figure", title=title)
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}")
    output.out.print(table)
