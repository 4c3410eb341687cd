"""Commands that measure what users bring: their own catalogue, their own queries."""

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from contextune.cli import output
from contextune.errors import ContextuneError, InvalidRequestError
from contextune.evaluate.confusable import Confusable, confusable
from contextune.evaluate.evaluation import DEEP, CatalogEvaluator, Evaluation
from contextune.evaluate.json_report import to_json
from contextune.evaluate.junit import printable, to_junit
from contextune.evaluate.misses import Miss, RankedTool, misses
from contextune.evaluate.queries import LabelledQuery, read_queries
from contextune.evaluate.results import ALL, LEVEL
from contextune.evaluate.stats import Interval
from contextune.evaluate.thresholds import Threshold, ThresholdResult
from contextune.tools import Catalog
from contextune.tools.index import VectorCache
from contextune.tools.retriever import DEFAULT, METHODS
from contextune.types import Tool

app = typer.Typer(help="Measure on your own data, as a gate in CI.", no_args_is_help=True)

_SERVERS = 20
_SUGGESTIONS = 20
_TITLES = {"confused": "taken for another", "same": "the same tool twice", "close": "hard to tell apart"}


@app.callback()
def group() -> None:
    """Measure on your own data, as a gate in CI."""


@app.command()
def tools(
    catalog: Annotated[
        list[str] | None,
        typer.Option(help="A file or server with tools, as for `contextune tools add`; may be repeated."),
    ] = None,
    shelf: Annotated[
        Path | None, typer.Option(help="Instead: the catalogue that `contextune tools add` keeps.")
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(help='JSONL: {"query": "…", "relevant": ["tool", …]} a line.')
    ] = None,
    method: Annotated[str, typer.Option(help=f"How to rank: {', '.join(METHODS)}.")] = DEFAULT,
    k: Annotated[int, typer.Option("-k", help="How many tools an assistant is offered.")] = 10,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(help="A bar, such as recall@5=0.9; exit status 1 below it. May be repeated."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="JUnit XML to write, a test case a query.")] = None,
    json: Annotated[Path | None, typer.Option(help="JSON to write, with all rankings.")] = None,
    shown: Annotated[int, typer.Option("--misses", min=0, help="How many misses to output.")] = 10,
    suggest: Annotated[bool, typer.Option(help="Also name tools that are hard to tell apart.")] = False,
) -> None:
    """Measure how well the tools of a catalogue are found, and show which are not and why.

    Exit status: 0 if every bar holds, 1 if one does not, 2 if something given is of no use.
    """
    bars = [Threshold.parse(text) for text in fail_under or ()]
    if queries is None and (not suggest or bars or junit):
        raise InvalidRequestError("--queries is needed: a JSONL file; --suggest alone does without")
    with _opened(catalog or [], shelf) as (found, kept):
        asked = read_queries(queries, found) if queries else []  # before anything that takes long
        with output.progress("Embedding tools") as update:
            trial = CatalogEvaluator(found, method=method, shelf=kept, progress=update)
        servers = len({tool.app for tool in found})
        output.out.print(f"{_count(len(found), 'tool')} on {_count(servers, 'server')}", highlight=False)
        measured = _measured(trial, asked, k, bars) if asked else None
        missed = misses(trial, measured, None if json else shown) if measured else []
    pairs = confusable(found, trial.index.vectors, measured.cases if measured else ()) if suggest else None
    verdicts = measured.verdicts(bars) if measured else []
    if measured:
        _print_table(measured)
        _print_misses(missed[:shown], measured)
    if pairs is not None:
        _print_suggestions(pairs)
    if json:
        about = {"catalogues": catalog or [str(shelf)], "tools": len(found), "queries": str(queries or "")}
        about |= {"method": method, "k": k, "fail_under": fail_under or []}
        _write(json, to_json(about, measured, verdicts=verdicts, misses=missed, confusables=pairs))
    if junit and measured:
        _write(junit, to_junit(measured, verdicts, about={"method": method, "k": str(k)}))
    _print_verdicts(verdicts)
    if not all(verdict.holds for verdict in verdicts):
        raise typer.Exit(1)


def _measured(
    trial: CatalogEvaluator, asked: Sequence[LabelledQuery], k: int, bars: Sequence[Threshold]
) -> Evaluation:
    with output.progress("Queries") as update:
        return trial.run(asked, k=k, bars=bars, progress=update)


@contextmanager
def _opened(sources: Sequence[str], shelf: Path | None) -> Generator[tuple[Catalog, VectorCache | None]]:
    """The tools to measure, and where their vectors are kept, if anywhere."""
    if bool(sources) == bool(shelf):
        raise InvalidRequestError("give the tools as --catalog FILE, or as --shelf PATH, and not both")
    if shelf:
        from contextune.tools.catalog_file import CatalogFile

        if not shelf.exists():  # opening would make an empty one
            raise ContextuneError(f"there is no catalogue at {str(shelf)!r}: make it by contextune tools add")
        with CatalogFile(shelf) as kept:
            yield kept.catalog(), kept
        return
    from contextune.tools.loaders import load_tools

    found: list[Tool] = []
    for source in sources:
        loaded = load_tools(source)
        found += loaded.tools
        for refused in loaded.refused:
            output.error(printable(f"{source}: {refused.name!r} is left out: {refused.reason}"))
    yield Catalog(found), None


def _print_table(measured: Evaluation) -> None:
    table, name = measured.table, measured.method
    first = table.metrics[0].name
    servers = sorted(table.kinds, key=lambda kind: -_lost(measured, kind))
    rich = Table(
        title=f"{_count(len(table.qrels), 'query')}, {name}", title_justify="left", caption_justify="left"
    )
    rich.add_column("server", overflow="fold")
    rich.add_column("n", justify="right")
    for metric in table.metrics:  # on two lines, since a CI's log is narrow
        rich.add_column(metric.label.replace("@", "\n@"), justify="right")
    for kind in (ALL, *servers[:_SERVERS]):
        cells = [table.cell(name, metric.name, kind).interval for metric in table.metrics]
        title = Text("all queries", "bold") if kind == ALL else Text(printable(kind))
        rich.add_row(
            title, f"{table.cell(name, first, kind).n:,}", *map(_share, cells), end_section=kind == ALL
        )
    notes = [f"± half the width of the {LEVEL:.0%} bootstrap interval, over the tools wanted"]
    if len(servers) > _SERVERS:
        notes.append(f"{_count(len(servers) - _SERVERS, 'more server')} with less that is missed")
    rich.caption = f"In percent. {'; '.join(notes)}."
    output.out.print(rich)
    output.out.print(f"{measured.milliseconds:.1f} ms a query, median, embedding included", highlight=False)
    if silent := measured.abstention:
        output.out.print(
            f"No tool fits: said of {_share(silent.rightly)} % of the requests that none serves, "
            f"and of {_share(silent.wrongly)} % of the others",
            highlight=False,
        )
    if measured.skipped:
        output.out.print(
            f"Left out: {_count(measured.skipped, 'query')} that no tool serves, since {name!r} does not say "
            "when none fits",
            highlight=False,
        )


def _lost(measured: Evaluation, kind: str) -> float:
    """How many queries' worth of tools is missed."""
    cell = measured.table.cell(measured.method, f"recall@{measured.k}", kind)
    return cell.n * (1 - cell.interval.mean)


def _share(interval: Interval) -> str:
    half = (interval.high - interval.low) / 2
    return f"{100 * interval.mean:.1f}" + ("" if math.isnan(half) else f" ±{100 * half:.1f}")


def _print_misses(shown: Sequence[Miss], measured: Evaluation) -> None:
    count = sum(bool(case.missed) for case in measured.cases)
    if not shown:
        if not count:
            output.out.print(f"Every tool wanted is in the top {measured.k}.", highlight=False)
        return
    which = f", the furthest first, {len(shown):,} shown" if len(shown) < count else ""
    output.out.print(
        f"\n[bold]Not in the top {measured.k}[/]: {_count(count, 'query')}{which}", highlight=False
    )
    for miss in shown:
        rich = Table(title=Text(printable(miss.case.query.text)), title_justify="left", header_style="dim")
        for head in ("", "rank", "score", "tool", "why"):
            rich.add_column(head, justify="right" if head in ("rank", "score") else "left", overflow="fold")
        for label, several in (("wanted", miss.wanted), ("instead", miss.above)):
            for seen in several:
                rich.add_row(label, *_row(seen))
        output.out.print(rich)


def _row(seen: RankedTool) -> tuple[str | Text, ...]:
    rank = str(seen.rank) if seen.rank else f"> {DEEP}"
    score = "" if seen.score is None else f"{seen.score:.3f}"
    return rank, score, Text(printable(seen.tool)), Text(printable("; ".join(seen.why)))


def _print_suggestions(pairs: Sequence[Confusable]) -> None:
    if not pairs:
        output.out.print("\nNo two tools are too close to tell apart.", highlight=False)
        return
    more = f", the first {_SUGGESTIONS}" if len(pairs) > _SUGGESTIONS else ""
    output.out.print(f"\n[bold]Tools to tell apart[/]: {len(pairs):,}{more}", highlight=False)
    for pair in pairs[:_SUGGESTIONS]:
        names = " | ".join(printable(tool.id) for tool in pair.tools)
        facts = [_TITLES[pair.kind]]
        if pair.queries:
            facts.append(f"in {_count(len(pair.queries), 'query')}")
        facts.append(f"likeness {pair.likeness:.2f}, words in common {pair.overlap:.0%}")
        output.out.print(Text.assemble((names, "bold"), f"  {', '.join(facts)}"), soft_wrap=True)
        output.out.print(Text(f"  {printable(pair.advice)}"), soft_wrap=True)


def _print_verdicts(verdicts: Sequence[ThresholdResult]) -> None:
    for verdict in verdicts:
        if verdict.holds:
            output.out.print(f"[green]✓[/] {verdict}", highlight=False)
        else:
            output.err.print(f"[bold red]below the bar:[/] {verdict}", highlight=False, soft_wrap=True)


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
