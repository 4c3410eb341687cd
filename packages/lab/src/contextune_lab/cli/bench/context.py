"""Benchmarks of context: retrieval, token budget, conversation history, changing habits."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.cli.options import DEFAULT_METHOD
from contextune.errors import ContextuneError
from contextune_lab.cli.bench.options import Methods, Out, Personas, Plot, read_personas
from contextune_lab.cli.bench.recording import draw, figures_folder, record, subfolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contextune.datasets import Persona
    from contextune.embed import Embedder
    from contextune.evaluate.metrics import Run
    from contextune.evaluate.results import ResultTable
    from contextune_lab.public_data.context_sets import ContextSet
    from contextune_lab.train.embedder.fold_vectors import FoldVectors
    from contextune_lab.train.rankers.context.train import TrainedPasses

Data = Annotated[Path, typer.Option(help="Folder with ikat and mudoco, which are not bundled.")]

HAYSTACKS = (1_000, 10_000)
_COMMAND = "contextune bench context"
_RECALL = ("recall@3", "recall@5", "recall@10")


def context(
    personas: Personas = None,
    method: Methods = None,
    out: Out = None,
    ablations: Annotated[
        bool, typer.Option(help="Also measure the ranker without each of its parts.")
    ] = False,
    haystack: Annotated[
        list[int] | None,
        typer.Option(
            help="Also measure each persona among this many items; may be repeated. "
            "Default: 1000 and 10000; 0 for none."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with workbench and ikat, which are not bundled.")
    ] = None,
    cot: Annotated[bool, typer.Option(help="Also measure CoT by the configured language model.")] = False,
    workers: Annotated[
        int, typer.Option(min=0, help="Rank among many items by this many workers on Ray; 0: without Ray.")
    ] = 0,
) -> None:
    """Measure context retrieval: implicit and explicit requests, large stores, public data.

    On the bundled personas, trained models are cross-validated. With --personas or --method,
    the methods run as shipped.
    """
    from contextune.context import METHODS
    from contextune_lab.bench.quality import context as context_bench
    from contextune_lab.public_data.context_sets import read_context_sets

    if personas is None and method is None:
        sizes = [size for size in HAYSTACKS if haystack is None] + [size for size in haystack or [] if size]
        public_sets = read_context_sets(data) if data else []  # first, so that a wrong folder costs no time
        _whole_table(
            out, public_sets, with_ablations=ablations, haystacks=sizes, with_cot=cot, workers=workers
        )
        if public_sets:
            _public_sets(public_sets, out)
        return
    if ablations or haystack or cot or data:
        raise ContextuneError(
            "--ablations, --haystack, --data and --cot run on the bundled personas with all methods: "
            "drop --personas and --method"
        )
    available = [*METHODS, context_bench.COT]  # a large model's is recorded for the bundled personas only
    methods = method or available
    if unknown := set(methods) - set(available):
        raise ContextuneError(f"there is no method {min(unknown)!r}: choose among {', '.join(available)}")
    people = read_personas(personas)
    with output.progress("Personas") as update:
        runs = context_bench.run_methods(people, methods, progress=update)
    rows = {context_bench.TITLES[name]: run for name, run in runs.items()}
    output.print_results(context_bench.context_table(people, rows), out)


def _whole_table(
    out: Path | None,
    public: "Sequence[ContextSet]",
    *,
    with_ablations: bool,
    haystacks: list[int],
    with_cot: bool,
    workers: int = 0,
) -> None:
    from contextune.context.chain_of_thought import ChainOfThought
    from contextune.llm.from_env import required_chat
    from contextune_lab.bench.bench_tables import kind_table, metric_table
    from contextune_lab.bench.quality import ablations as ablations_bench
    from contextune_lab.bench.quality import context as context_bench
    from contextune_lab.bench.quality.large_model_cot import large_model_cot_rows
    from contextune_lab.bench.quality.without_request import without_request_rows
    from contextune_lab.bench.untuned_embedder import untuned_embedder
    from contextune_lab.train.embedder.fold_vectors import bundled_folds
    from contextune_lab.train.rankers.context.examples import from_folds
    from contextune_lab.train.rankers.context.mixture import mixture_examples
    from contextune_lab.train.rankers.context.train import FeaturedExamples, fit_by_fold, rank_held_out
    from contextune_lab.train.splits import is_test, restrict_to_test

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
    with output.progress("Without the request") as update:
        rows |= without_request_rows(data, progress=update)
    with output.progress("Training requests") as update:
        parts = [context_set.part("train") for context_set in public]
        mixture = FeaturedExamples.build(mixture_examples(folds, parts, progress=update))
    with output.progress("Cross-validation") as update:
        trained = fit_by_fold(mixture, progress=update)
    out_of_fold = rank_held_out(mixture, trained)
    rows |= context_bench.tuned_rows(folds, out_of_fold)
    rows |= large_model_cot_rows(folds, trained)
    table = context_bench.context_table(folds.personas, rows)
    output.print_results(table, subfolder(out, "context"))
    record(
        out,
        metric_table("context", _COMMAND, table, emphasis=context_bench.RANKER),
        kind_table("context-by-kind", _COMMAND, table, "recall@3", emphasis=context_bench.RANKER),
    )
    test = [persona for persona in folds.personas if is_test(persona.id)]
    output.out.rule(f"Test part: {len(test)} personas that no choice looked at", align="left")
    table = context_bench.context_table(test, restrict_to_test(rows))
    output.print_results(table, subfolder(out, "context-test"))
    record(out, metric_table("context-test", _COMMAND, table, emphasis=context_bench.RANKER))
    _titles(folds.personas, out)
    if with_ablations:
        with output.progress("Ablations") as update:  # trained on the personas' own requests only, for time
            whole = rank_held_out(data, fit_by_fold(data))
            ablated = ablations_bench.ablations(data, whole, progress=update)
        table = context_bench.context_table(folds.personas, ablated, metrics=_RECALL, published=False)
        output.print_results(table, subfolder(out, "context-ablations"))
        record(out, metric_table("context-ablations", f"{_COMMAND} --ablations", table))
    _explicit_and_haystacks(folds, trained, haystacks, out, workers)


def _explicit_and_haystacks(
    folds: "FoldVectors",
    trained: "Mapping[int, TrainedPasses]",
    sizes: "Sequence[int]",
    out: Path | None,
    workers: int,
) -> None:
    """Explicit requests; then all requests among more items, and how many of their items are candidates."""
    from contextune.fleet import run_locally
    from contextune.fleet.ray_cluster import ray_cluster
    from contextune_lab.bench.bench_tables import kind_table, metric_table
    from contextune_lab.bench.quality import context as context_bench
    from contextune_lab.bench.quality import explicit as explicit_bench
    from contextune_lab.bench.quality import haystack as haystack_bench
    from contextune_lab.bench.results_file import BenchTable, Cell, Row

    with output.progress("Explicit requests") as update:
        explicit = explicit_bench.explicit_rows(folds, trained, progress=update)
    output.out.rule("Explicit requests", align="left")
    table = explicit_bench.explicit_table(folds, explicit)
    output.print_results(table, subfolder(out, "context-explicit"))
    record(out, metric_table("context-explicit", _COMMAND, table, emphasis=context_bench.RANKER))
    candidates: dict[str, list[Cell | None]] = {"implicit": [], "explicit": []}
    for size in sizes:
        with ExitStack() as stack:
            execute = stack.enter_context(ray_cluster(None, workers)) if workers else run_locally
            update = stack.enter_context(output.progress(f"Among {size:,} items"))
            among = haystack_bench.haystack_rows(folds, trained, size, execute=execute, progress=update)
        output.out.rule(f"{size:,} items per persona", align="left")
        table = context_bench.context_table(folds.personas, among.rows, metrics=_RECALL, published=False)
        output.print_results(table, subfolder(out, f"context-haystack-{size}"))
        command = f"{_COMMAND} --haystack {size}"
        record(
            out,
            metric_table(f"context-haystack-{size}", command, table, emphasis=context_bench.RANKER),
            kind_table(f"context-haystack-{size}-by-kind", command, table, "recall@3"),
        )
        candidates["implicit"].append(Cell(among.mean_candidate_recall))
        with output.progress(f"Explicit among {size:,} items") as update:
            named = explicit_bench.explicit_haystack_rows(folds, trained, size, progress=update)
        output.out.rule(f"Explicit requests, {size:,} items per persona", align="left")
        table = explicit_bench.explicit_table(folds, named)
        output.print_results(table, subfolder(out, f"context-explicit-{size}"))
        table_id = f"context-explicit-{size}"
        record(out, metric_table(table_id, command, table, emphasis=context_bench.RANKER))
        candidates["explicit"].append(Cell(named.mean_candidate_recall))
    if sizes:
        columns = [f"{size:,} items" for size in sizes]
        rows = [Row(name, cells) for name, cells in candidates.items()]
        recall = BenchTable(
            "context-candidates", _COMMAND, columns, rows, corner="relevant items that are candidates"
        )
        record(out, recall)
        for row in rows:
            shares = (f"{cell.value:.1f} %" if cell and cell.value is not None else "–" for cell in row.cells)
            output.out.print(f"candidates, {row.name}: {', '.join(shares)} among {', '.join(columns)}")


def _public_sets(context_sets: "Sequence[ContextSet]", out: Path | None) -> None:
    """The test parts of WorkBench and iKAT, by the methods as shipped."""
    from contextune_lab.bench.bench_tables import metric_table, slug
    from contextune_lab.bench.quality import context as context_bench
    from contextune_lab.bench.quality import public_contexts as public_bench
    from contextune_lab.bench.untuned_embedder import untuned_embedder

    untuned: Embedder | None = None
    try:
        untuned = untuned_embedder()
    except ContextuneError as error:
        output.print_error(f"the untuned row is left out: {error}")
    tables: dict[str, ResultTable] = {}
    for context_set in context_sets:
        with output.progress(context_set.name) as update:
            rows = public_bench.public_rows(context_set, untuned, progress=update)
        tables[context_set.name] = table = public_bench.public_table(context_set, rows)
        output.out.rule(f"{context_set.name}, test part", align="left")
        output.print_results(table, subfolder(out, f"context-{slug(context_set.name)}"))
    command = f"{_COMMAND} --data FOLDER"
    record(
        out,
        metric_table("context-public", command, tables, emphasis=context_bench.RANKER),
        public_bench.summary_table("context-public-mean", command, tables),
    )


def _titles(personas: "Sequence[Persona]", out: Path | None) -> None:
    """Requests that name an item by its exact title."""
    from contextune_lab.bench.bench_tables import metric_table
    from contextune_lab.bench.quality import by_title as title_bench
    from contextune_lab.bench.untuned_embedder import untuned_embedder

    requests = title_bench.title_requests(personas)
    embedders: list[title_bench.EmbedderMethods] = [(None, title_bench.SHIPPED_METHODS)]
    try:
        embedders.insert(0, (untuned_embedder(), title_bench.UNTUNED_METHODS))
    except ContextuneError as error:
        output.print_error(f"the untuned rows are left out: {error}")
    with output.progress("Requests by title") as update:
        rows = title_bench.title_rows(personas, requests, embedders, progress=update)
    output.out.rule("Named by its exact title", align="left")
    table = title_bench.title_table(requests, rows)
    output.print_results(table, subfolder(out, "context-titles"))
    record(out, metric_table("context-titles", _COMMAND, table))


def budget(personas: Personas = None, method: Methods = None, out: Out = None, plot: Plot = None) -> None:
    """Measure how many facts that a call needs fit in a token budget, for the right and for found items.

    By default for rankings of models that have not seen the persona, on personas that packing was not tuned
    on. With --method or --personas, the bundled models rank.
    """
    from contextune_lab.bench.plan_tables import budget_bench_table
    from contextune_lab.bench.quality import prompt_budget as budget_bench

    people = read_personas(personas)
    tables: list[budget_bench.BudgetTable] = []
    rankings: dict[str, budget_bench.RankFunction | None]
    if personas is None and not method:
        from contextune_lab.train.embedder.fold_vectors import bundled_folds

        people = budget_bench.reported_personas(people)
        with output.progress("Rankers") as update:
            rankings = {**budget_bench.out_of_fold_rankings(bundled_folds(), update)}
    else:
        rankings = dict.fromkeys(method or ["semantic", DEFAULT_METHOD])
    for name, rank in rankings.items():
        with output.progress("Personas") as update:
            tables.append(budget_bench.budget_table(people, rank, progress=update, name=name))
        output.out.print(budget_bench.to_rich(tables[-1]))
    table = budget_bench_table("contextune bench budget", tables)
    record(out, table)
    draw(out, plot, table)


def history(data: Data, out: Out = None) -> None:
    """Measure what the conversation history adds, on iKAT and MuDoCo."""
    from contextune.embed import default_embedder
    from contextune_lab.bench.bench_tables import kind_table, metric_table, slug
    from contextune_lab.bench.quality import conversation_history as history_bench
    from contextune_lab.bench.untuned_embedder import untuned_embedder

    for which, load in (("untuned", untuned_embedder), ("tuned", default_embedder)):
        try:
            embedder = load()
        except ContextuneError as error:
            output.print_error(f"the tables with the {which} embedder are left out: {error}")
            continue
        with output.progress(f"Texts, {which} embedder") as update:
            tables = history_bench.history_tables(data, embedder, progress=update)
        for name, table in tables.items():
            output.out.rule(f"{name}, {which} embedder", align="left")
            output.print_results(table, subfolder(out, "history", which, name))
            table_id, command = f"history-{which}-{slug(name)}", "contextune bench history --data FOLDER"
            by_kind = kind_table(f"{table_id}-by-kind", command, table, table.metrics[0].name)
            record(out, metric_table(table_id, command, table), by_kind)


def habits(personas: Personas = None, out: Out = None, plot: Plot = None) -> None:
    """Measure how fast the ranking follows a simulated user whose habit changes."""
    from contextune_lab.bench import plots
    from contextune_lab.bench.quality import habit_change as habits_bench
    from contextune_lab.bench.results_file import BenchTable, Cell, Row

    users = read_personas(personas)
    curves: dict[str, list[float]] = {}
    for prefix, corrected in (("", False), ("corrected: ", True)):
        with output.progress("Users who correct the answer" if corrected else "Users") as update:
            ranks = habits_bench.simulate_habit_change(users, corrected=corrected, progress=update)
        above, first = habits_bench.leading_shares(ranks)
        curves |= {f"{prefix}new song above the old": above, f"{prefix}new song first": first}
    rows = [(str(number), shares) for number, shares in enumerate(zip(*curves.values(), strict=True))]
    table = Table("mornings", *curves)
    for label, shares in rows:
        table.add_row(label, *(f"{100 * share:.0f} %" for share in shares))
    output.out.print(table)
    if out:
        cells = [Row(label, [Cell(100 * share) for share in shares]) for label, shares in rows]
        record(out, BenchTable("habits", "contextune bench habits", [*curves], cells, 0, "mornings"))
    if plot := figures_folder(out, plot):
        plots.plot_curves(
            curves,
            range(len(rows)),
            plot / "habits.svg",
            title="Following a habit that changes",
            x_label="mornings",
            y_label="share of users",
        )
