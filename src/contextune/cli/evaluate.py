"""`contextune eval`: evaluate tool search on the user's own catalogue and queries."""

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from contextune.cli import output
from contextune.cli.evaluate_requests import context, plan
from contextune.cli.groups import command_group
from contextune.cli.options import DEFAULT_TOOL_METHOD, TOOL_METHODS, MinFit
from contextune.errors import ContextuneError, InvalidRequestError

if TYPE_CHECKING:
    from contextune.evaluate.confusable import ConfusableTools
    from contextune.evaluate.evaluation import CatalogEvaluator, Evaluation
    from contextune.evaluate.misses import Miss, RankedTool
    from contextune.evaluate.queries import LabelledQuery
    from contextune.evaluate.stats import Interval
    from contextune.evaluate.thresholds import Threshold, ThresholdResult
    from contextune.tools import Catalog
    from contextune.tools.index import VectorCache
    from contextune.types import Tool

app = command_group()

_MAX_SERVERS = 20
_MAX_SUGGESTIONS = 20
_KINDS = {"confused": "taken for another", "same": "the same tool twice", "close": "hard to tell apart"}


@app.callback()
def group() -> None:
    """Evaluate on your own data, as a gate in CI."""


app.command()(context)
app.command()(plan)


@app.command()
def tools(
    catalog: Annotated[
        list[str] | None,
        typer.Option(help="File or URL with tools, as for `contextune tools add`; may be repeated."),
    ] = None,
    shelf: Annotated[
        Path | None, typer.Option(help="Instead of --catalog: a catalogue made by `contextune tools add`.")
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(help='JSONL file, a {"query": "…", "relevant": ["tool", …]} per line.')
    ] = None,
    method: Annotated[
        str, typer.Option(help=f"Ranking method: {', '.join(TOOL_METHODS)}.")
    ] = DEFAULT_TOOL_METHOD,
    k: Annotated[int, typer.Option("-k", help="Number of tools to offer to the assistant.")] = 10,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(help="Threshold, as recall@5=0.9; exit status 1 below it; may be repeated."),
    ] = None,
    min_fit: MinFit = None,
    bounded: Annotated[
        bool, typer.Option("--bounded", help="Search descriptions as `contextune mcp` does for its servers.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="JUnit XML file to write, a test case per query.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="JSON file to write, with all rankings.")] = None,
    max_misses: Annotated[int, typer.Option("--misses", min=0, help="Number of misses to print.")] = 10,
    suggest: Annotated[bool, typer.Option(help="Also print tools that are hard to tell apart.")] = False,
) -> None:
    """Evaluate tool search on a catalogue and labelled queries, and explain the misses.

    Exit status: 0 if every threshold is met, 1 if one is not, 2 if an argument is invalid.
    """
    from contextune.evaluate.confusable import find_confusable
    from contextune.evaluate.evaluation import CatalogEvaluator
    from contextune.evaluate.export import evaluation_to_json, to_junit
    from contextune.evaluate.misses import find_misses
    from contextune.evaluate.queries import read_queries
    from contextune.evaluate.thresholds import Threshold

    thresholds = [Threshold.parse(text) for text in fail_under or ()]
    if queries is None and (not suggest or thresholds or junit):
        raise InvalidRequestError("--queries is needed: a JSONL file; only --suggest works without it")
    with _open_catalog(catalog or [], shelf) as (tools, cache):
        labelled = read_queries(queries, tools) if queries else []  # fails before the slow part
        with output.progress("Embedding tools") as update:
            evaluator = CatalogEvaluator(
                tools, method=method, bounded=bounded, min_fit=min_fit, vector_cache=cache, progress=update
            )
        servers = len({tool.app for tool in tools})
        output.out.print(f"{_count(len(tools), 'tool')} on {_count(servers, 'server')}", highlight=False)
        evaluation = _evaluate(evaluator, labelled, k, thresholds) if labelled else None
        missed = find_misses(evaluator, evaluation, None if json else max_misses) if evaluation else []
    cases = evaluation.cases if evaluation else ()
    pairs = find_confusable(tools, evaluator.index.vectors, cases) if suggest else None
    verdicts = evaluation.check(thresholds) if evaluation else []
    if evaluation:
        _print_table(evaluation)
        _print_misses(missed[:max_misses], evaluation)
    if pairs is not None:
        _print_suggestions(pairs)
    if json:
        config = {"catalogues": catalog or [str(shelf)], "tools": len(tools), "queries": str(queries or "")}
        config |= {"method": method, "k": k, "fail_under": fail_under or []}
        config |= {"min_fit": min_fit, "bounded": bounded}
        _write(
            json, evaluation_to_json(config, evaluation, results=verdicts, misses=missed, confusables=pairs)
        )
    if junit and evaluation:
        _write(junit, to_junit(evaluation, verdicts, properties={"method": method, "k": str(k)}))
    _print_verdicts(verdicts)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(1)


def _evaluate(
    evaluator: "CatalogEvaluator",
    queries: "Sequence[LabelledQuery]",
    k: int,
    thresholds: "Sequence[Threshold]",
) -> "Evaluation":
    with output.progress("Queries") as update:
        return evaluator.run(queries, k=k, thresholds=thresholds, progress=update)


@contextmanager
def _open_catalog(
    sources: Sequence[str], shelf: Path | None
) -> "Generator[tuple[Catalog, VectorCache | None]]":
    """The tools to evaluate, and the file that caches their vectors, if there is one."""
    from contextune.evaluate.export import printable
    from contextune.tools import Catalog
    from contextune.tools.catalog_file import CatalogFile
    from contextune.tools.loaders import load_tools

    if bool(sources) == bool(shelf):
        raise InvalidRequestError("give the tools as --catalog FILE, or as --shelf PATH, and not both")
    if shelf:
        if not shelf.exists():  # opening would create an empty one
            raise ContextuneError(
                f"there is no catalogue at {str(shelf)!r}: contextune tools add … creates it"
            )
        with CatalogFile(shelf) as catalog_file:
            yield catalog_file.catalog(), catalog_file
        return
    tools: list[Tool] = []
    for source in sources:
        loaded = load_tools(source)
        tools += loaded.tools
        for refused in loaded.refused:
            output.print_error(printable(f"{source}: {refused.name!r} is left out: {refused.reason}"))
    yield Catalog(tools), None


def _print_table(evaluation: "Evaluation") -> None:
    from contextune.evaluate.export import printable
    from contextune.evaluate.results import ALL, LEVEL

    table, name = evaluation.table, evaluation.method
    first = table.metrics[0].name
    servers = sorted(table.kinds, key=lambda kind: -_lost(evaluation, kind))
    rich = Table(
        title=f"{_count(len(table.qrels), 'query')}, {name}", title_justify="left", caption_justify="left"
    )
    rich.add_column("server", overflow="fold")
    rich.add_column("n", justify="right")
    for metric in table.metrics:  # on two lines, since a CI's log is narrow
        rich.add_column(metric.label.replace("@", "\n@"), justify="right")
    for kind in (ALL, *servers[:_MAX_SERVERS]):
        cells = [table.cell(name, metric.name, kind).interval for metric in table.metrics]
        title = Text("all queries", "bold") if kind == ALL else Text(printable(kind))
        rich.add_row(
            title, f"{table.cell(name, first, kind).n:,}", *map(_share, cells), end_section=kind == ALL
        )
    notes = [f"± half the width of the {LEVEL:.0%} bootstrap interval, over the expected tools"]
    if len(servers) > _MAX_SERVERS:
        notes.append(f"{_count(len(servers) - _MAX_SERVERS, 'more server')} with fewer misses")
    rich.caption = f"In percent. {'; '.join(notes)}."
    output.out.print(rich)
    output.out.print(f"{evaluation.milliseconds:.1f} ms per query (median, with embedding)", highlight=False)
    if abstention := evaluation.abstention:
        output.out.print(
            f"Abstention: {_share(abstention.correct)} % of the queries that no tool serves, "
            f"and {_share(abstention.incorrect)} % of the others, as `fits` is below "
            f"{evaluation.cases[0].min_fit:g}",
            highlight=False,
        )
    for threshold in evaluation.thresholds:
        output.out.print(f"At most {threshold.allowed:.0%} false refusals: {threshold}", highlight=False)
    if evaluation.skipped:
        output.out.print(
            f"Left out: {_count(evaluation.skipped, 'query')} that no tool serves, because {name!r} does not "
            "estimate whether a tool fits",
            highlight=False,
        )


def _lost(evaluation: "Evaluation", kind: str) -> float:
    """Number of queries times the share of expected tools that is missed."""
    cell = evaluation.table.cell(evaluation.method, f"recall@{evaluation.k}", kind)
    return cell.n * (1 - cell.interval.mean)


def _share(interval: "Interval") -> str:
    half = (interval.high - interval.low) / 2
    return f"{100 * interval.mean:.1f}" + ("" if math.isnan(half) else f" ±{100 * half:.1f}")


def _print_misses(misses: "Sequence[Miss]", evaluation: "Evaluation") -> None:
    from contextune.evaluate.export import printable

    count = sum(bool(case.missed) for case in evaluation.cases)
    if not misses:
        if not count:
            output.out.print(f"Every expected tool is in the top {evaluation.k}.", highlight=False)
        return
    which = f", worst first, {len(misses):,} printed" if len(misses) < count else ""
    output.out.print(
        f"\n[bold]Not in the top {evaluation.k}[/]: {_count(count, 'query')}{which}", highlight=False
    )
    for miss in misses:
        rich = Table(title=Text(printable(miss.case.query.text)), title_justify="left", header_style="dim")
        for head in ("", "rank", "score", "tool", "why"):
            rich.add_column(head, justify="right" if head in ("rank", "score") else "left", overflow="fold")
        for label, several in (("wanted", miss.missed), ("instead", miss.instead)):
            for ranked in several:
                rich.add_row(label, *_row(ranked))
        output.out.print(rich)


def _row(ranked: "RankedTool") -> tuple[str | Text, ...]:
    from contextune.evaluate.evaluation import SEARCH_DEPTH
    from contextune.evaluate.export import printable

    rank = str(ranked.rank) if ranked.rank else f"> {SEARCH_DEPTH}"
    score = "" if ranked.score is None else f"{ranked.score:.3f}"
    return rank, score, Text(printable(ranked.tool)), Text(printable("; ".join(ranked.reasons)))


def _print_suggestions(pairs: "Sequence[ConfusableTools]") -> None:
    from contextune.evaluate.export import printable

    if not pairs:
        output.out.print("\nNo two tools are hard to tell apart.", highlight=False)
        return
    more = f", the first {_MAX_SUGGESTIONS}" if len(pairs) > _MAX_SUGGESTIONS else ""
    output.out.print(f"\n[bold]Tools that are hard to tell apart[/]: {len(pairs):,}{more}", highlight=False)
    for pair in pairs[:_MAX_SUGGESTIONS]:
        names = " | ".join(printable(tool.id) for tool in pair.tools)
        facts = [_KINDS[pair.kind]]
        if pair.queries:
            facts.append(f"in {_count(len(pair.queries), 'query')}")
        facts.append(f"likeness {pair.similarity:.2f}, words in common {pair.overlap:.0%}")
        output.out.print(Text.assemble((names, "bold"), f"  {', '.join(facts)}"), soft_wrap=True)
        output.out.print(Text(f"  {printable(pair.advice)}"), soft_wrap=True)


def _print_verdicts(verdicts: "Sequence[ThresholdResult]") -> None:
    for verdict in verdicts:
        if verdict.passed:
            output.out.print(f"[green]✓[/] {verdict}", highlight=False)
        else:
            output.err.print(f"[bold red]below the threshold:[/] {verdict}", highlight=False, soft_wrap=True)


def _count(number: int, noun: str) -> str:
    several = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}"


def _write(file: Path, content: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    except OSError as error:
        raise ContextuneError(f"{file}: cannot be written: {error.strerror or error}") from None
    output.out.print(f"Written to {file}.", markup=False, highlight=False)
