"""Commands that measure."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.cli.lab import bench_plan, bench_querygen, bench_serve, bench_sources, bench_tools
from contextune.context import DEFAULT, METHODS
from contextune.context.chain_of_thought import ChainOfThought
from contextune.datasets import Persona, bundled_personas, read_personas
from contextune.errors import ContextuneError
from contextune.evaluate.metrics import Run
from contextune.lab.bench import plots
from contextune.lab.bench.quality import ablations as ablations_bench
from contextune.lab.bench.quality import context as context_bench
from contextune.lab.bench.quality import conversation_history as history_bench
from contextune.lab.bench.quality import habit_change as habits_bench
from contextune.lab.bench.quality import haystack as haystack_bench
from contextune.lab.bench.quality import prompt_budget as budget_bench
from contextune.lab.bench.speed import embedder as embedder_bench
from contextune.lab.bench.speed import latency as latency_bench
from contextune.lab.bench.speed import store as store_bench
from contextune.lab.bench.untuned_embedder import untuned_embedder
from contextune.lab.train.embedder.fold_vectors import bundled_folds
from contextune.lab.train.rankers.context import FeaturedExamples, cross_validate
from contextune.lab.train.rankers.context_examples import from_folds
from contextune.llm.from_env import required_chat

app = typer.Typer(help="Measure quality and speed.", no_args_is_help=True)
bench_tools.add_to(app)
bench_querygen.add_to(app)
bench_plan.add_to(app)
bench_serve.add_to(app)
bench_sources.add_to(app)

Personas = Annotated[Path | None, typer.Option(help="Folder of persona files; default: the bundled ones.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help="A method to measure; may be repeated.")]
Data = Annotated[Path, typer.Option(help="Folder that holds ikat and mudoco; they are not in the package.")]
Out = Annotated[Path | None, typer.Option(help="Folder for JSON, CSV and TREC files.")]

_RECALL = ("recall@3", "recall@5", "recall@10")


@app.command()
def context(
    personas: Personas = None,
    method: Methods = None,
    out: Out = None,
    ablations: Annotated[bool, typer.Option(help="Also what each part of the ranker is worth.")] = False,
    haystack: Annotated[
        list[int] | None, typer.Option(help="Also each persona among so many items; may be repeated.")
    ] = None,
    cot: Annotated[bool, typer.Option(help="Also CoT by the language model that is configured.")] = False,
) -> None:
    """Print the paper's table of context retrieval, overall and by kind of query.

    On the bundled personas, trained models are measured on personas they have not seen. On a
    folder of others, or with --method, the methods run as they are shipped.
    """
    if personas is None and method is None:
        _whole_table(out, with_ablations=ablations, haystacks=haystack or [], with_cot=cot)
        return
    if ablations or haystack or cot:
        raise ContextuneError(
            "--ablations, --haystack and --cot are measured on the bundled personas, all methods"
        )
    known = [*METHODS, context_bench.COT]
    methods = method or known
    if unknown := set(methods) - set(known):
        raise ContextuneError(f"there is no method {min(unknown)!r}: choose among {', '.join(known)}")
    people = _personas(personas)
    with output.progress("Personas") as update:
        runs = context_bench.run_methods(people, methods, progress=update)
    rows = {context_bench.TITLES[name]: run for name, run in runs.items()}
    output.results(context_bench.context_table(people, rows), out)


def _whole_table(out: Path | None, *, with_ablations: bool, haystacks: list[int], with_cot: bool) -> None:
    folds = bundled_folds()
    chat = required_chat() if with_cot else None
    rows: dict[str, Run] = {}
    try:
        with output.progress("Untuned methods") as update:
            rows |= context_bench.untuned_rows(folds.personas, untuned_embedder(), progress=update)
    except ContextuneError as error:
        output.error(f"the untuned rows are left out: {error}")
    if chat:
        chain = ChainOfThought(chat)
        with output.progress("CoT by the language model") as update:
            row = context_bench.thought_row(folds.personas, untuned_embedder(), chain, progress=update)
        rows[f"CoT by {chat.name}"] = row
        output.out.print(f"of {len(row)} requests, {chain.failures} went on without CoT")
    with output.progress("Signals") as update:
        data = FeaturedExamples.of(from_folds(folds), progress=update)
    with output.progress("Cross-validation") as update:
        unseen = cross_validate(data, progress=update)
    rows |= context_bench.tuned_rows(folds, unseen)
    output.results(context_bench.context_table(folds.personas, rows), out)
    if with_ablations:
        with output.progress("Ablations") as update:
            parts = ablations_bench.ablations(data, unseen, progress=update)
        table = context_bench.context_table(folds.personas, parts, metrics=_RECALL)
        output.results(table, out / "ablations" if out else None)
    for size in haystacks:
        with output.progress(f"Among {size:,} items") as update:
            found = haystack_bench.haystack_rows(folds, data, size, progress=update)
        output.out.rule(f"{size:,} items a persona", align="left")
        table = context_bench.context_table(folds.personas, found, metrics=_RECALL)
        output.results(table, out / f"haystack-{size}" if out else None)


@app.command()
def budget(
    personas: Personas = None,
    method: Annotated[str, typer.Option(help="How items are ranked.")] = DEFAULT,
) -> None:
    """Print how many of the facts a call needs are kept within a budget of tokens."""
    with output.progress("Personas") as update:
        table = budget_bench.budget_table(_personas(personas), progress=update, name=method)
    output.out.print(budget_bench.to_rich(table))


@app.command()
def history(data: Data, out: Out = None) -> None:
    """Measure what the talk before a request is worth, on iKAT and MuDoCo."""
    with output.progress("Texts") as update:
        tables = history_bench.history_tables(data, progress=update)
    for name, table in tables.items():
        output.out.rule(name, align="left")
        output.results(table, out / name if out else None)


@app.command()
def habits(
    personas: Personas = None,
    plot: Annotated[
        Path | None, typer.Option(help="Folder to draw the figure into (needs matplotlib).")
    ] = None,
) -> None:
    """Measure how soon the ranking follows a simulated user whose habit changes."""
    with output.progress("Users") as update:
        ranks = habits_bench.ranks_after(_personas(personas), progress=update)
    above, first = habits_bench.leading(ranks)
    table = Table("mornings told", "new song above the old", "new song first")
    for number, shares in enumerate(zip(above, first, strict=True)):
        table.add_row(str(number), *(f"{100 * share:.0f} %" for share in shares))
    output.out.print(table)
    if plot:
        plots.curves(
            {"new song above the old": above, "new song first": first},
            range(len(above)),
            plot / "habits.svg",
            title="Following a habit that changes",
            across="mornings told",
            up="share of users",
        )


@app.command()
def speed(
    personas: Personas = None,
    method: Methods = None,
    items: Annotated[list[int] | None, typer.Option(help="Size of a store; may be repeated.")] = None,
) -> None:
    """Time one request, embedding included, over a persona and over large stores, whole and by stages."""
    with output.progress("Timing") as update:
        results = latency_bench.measure(
            _personas(personas), method or list(METHODS), sizes=items or latency_bench.SIZES, progress=update
        )
    table = Table("method", "items", "median ms", "95 % ms", title="One request, embedding included")
    for row in results:
        table.add_row(row.method, f"{row.items:,}", f"{row.median:.1f}", f"{row.p95:.1f}")
    output.out.print(table)


@app.command()
def embedder() -> None:
    """Time the embedder against sentence-transformers, in one run (needs both, and the untuned weights)."""
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
def store(items: Annotated[int, typer.Option(help="How many items to load.")] = 100_000) -> None:
    """Time loading and reading items."""
    with output.err.status("Loading"):
        result = store_bench.measure(items)
    names = {"load": "load, items/s", "read": "read, items/s", "single_put": "put one by one, items/s"}
    _figures(f"Store, {items:,} items", {names[key]: value for key, value in result.items()})


ALONE: tuple[Callable[[], None], ...] = (
    context,
    budget,
    habits,
    bench_tools.tools,
    bench_tools.doubts,
    bench_plan.plan,
    speed,
    store,
    embedder,
    bench_serve.serve,
    bench_sources.import_,
)
"""Those that need nothing from outside."""
PUBLIC: tuple[Callable[[Path], None], ...] = (bench_tools.catalogues, bench_tools.scale)
"""Those that need catalogues which are not in the package."""


@app.command(name="all")
def everything(
    public: Annotated[
        Path | None, typer.Option(help="Folder of toolbench, toollens and metatool: also what needs them.")
    ] = None,
) -> None:
    """Run every benchmark that needs nothing from outside, which takes a while.

    One whose peer is not installed says so, and the rest go on.
    """
    runs = [(run.__name__, run) for run in ALONE]
    if public:
        runs += [(run.__name__, partial(run, public)) for run in PUBLIC]
    for name, run in runs:
        output.out.rule(name.strip("_"), align="left")
        try:
            run()
        except ContextuneError as error:
            output.error(str(error))


def _personas(folder: Path | None) -> list[Persona]:
    return list(read_personas(folder)) if folder else bundled_personas()


def _figures(title: str, figures: dict[str, float]) -> None:
    table = Table("what", "figure", title=title)
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}")
    output.out.print(table)
