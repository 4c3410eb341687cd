"""`contextune eval context` and `eval plan`: evaluate on the user's own labelled requests."""

import json as json_module
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from contextune._internal.plural import pluralize
from contextune.cli import output
from contextune.cli.options import (
    DEFAULT_EMBEDDER,
    DEFAULT_METHOD,
    EmbedderName,
    Method,
    MinFit,
    PolicySettings,
    StoreName,
    ToolCatalog,
    UserName,
    open_store,
    resolve_user,
    select_embedder,
    tool_retriever,
)
from contextune.errors import InvalidRequestError

if TYPE_CHECKING:
    from contextune.evaluate.stats import Interval
    from contextune.evaluate.thresholds import FitThreshold

Requests = Annotated[
    Path, typer.Option("--queries", help="JSONL file, a labelled request per line (see docs/worlds.md).")
]
FailUnder = Annotated[
    list[str] | None,
    typer.Option(help="Threshold, as NAME=0.9; exit status 1 below it; may be repeated."),
]
JsonFile = Annotated[Path | None, typer.Option(help="JSON file to write, with the result of each request.")]


def context(
    queries: Requests,
    user: UserName = None,
    method: Method = DEFAULT_METHOD,
    fail_under: FailUnder = None,
    json: JsonFile = None,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    store: StoreName = None,
) -> None:
    """Measure whether the items that your requests need are found first.

    Thresholds: recall@1, @3, @5, @10, @20. Exit status: 1 if one is not met, 2 if an argument is invalid.
    """
    from contextune.evaluate.labelled import DEPTHS, evaluate_context
    from contextune.evaluate.requests import read_requests
    from contextune.tuner import Tuner

    minima = _minima(fail_under or (), [f"recall@{k}" for k in DEPTHS])
    requests = read_requests(queries)
    with open_store(store) as opened:
        owner = opened.user(resolve_user(opened, user))
        with output.progress("Requests") as update:
            tuner = Tuner(opened, embedder=select_embedder(embedder), method=method)
            figures = evaluate_context(tuner, owner, requests, update)
    kinds = sorted({result.request.kind for result in figures.results} - {""})
    rows = {"all requests": None} | ({kind: kind for kind in kinds} if len(kinds) > 1 else {})
    table = _table(f"Recall of the needed items, {pluralize(len(figures.results), 'request')}")
    table.add_column("")
    for depth in DEPTHS:
        table.add_column(f"@{depth}", justify="right")
    for name, kind in rows.items():
        table.add_row(name, *(_share(figures.recall(depth, kind)) for depth in DEPTHS))
    output.out.print(table)
    measured = {f"recall@{depth}": figures.recall(depth) for depth in DEPTHS}
    _write(
        json,
        measured,
        [
            {"id": r.request.id, "found": r.found, **{f"recall@{k}": r.recall(k) for k in DEPTHS}}
            for r in figures.results
        ],
    )
    _check(measured, minima)


def plan(
    queries: Requests,
    user: UserName = None,
    policy: PolicySettings = "",
    min_fit: MinFit = None,
    fail_under: FailUnder = None,
    json: JsonFile = None,
    catalog: ToolCatalog = None,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    store: StoreName = None,
) -> None:
    """Measure which calls are planned right for your requests, and choose when to refuse.

    Thresholds: right, tool@1, tool@5, acceptance (served requests that are not refused), abstention (others
    that are), harmless. Exit status: 1 if one is not met, 2 if an argument is invalid.
    """
    from contextlib import ExitStack

    from contextune.evaluate.labelled import evaluate_plans
    from contextune.evaluate.requests import read_requests
    from contextune.plan import Policy
    from contextune.tuner import Tuner

    names = ["right", "tool@1", "tool@5", "acceptance", "abstention", "harmless"]
    minima = _minima(fail_under or (), names)
    requests = read_requests(queries)
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store))
        owner = opened.user(resolve_user(opened, user))
        update = stack.enter_context(output.progress("Requests"))
        model = select_embedder(embedder)
        tools = tool_retriever(stack, catalog, model)(update)
        decisions = Policy.parse(policy) if policy else None
        tuner = Tuner(opened, embedder=model, tools=tools, policy=decisions, min_fit=min_fit)
        figures = evaluate_plans(tuner, owner, tools.catalog, requests, update)
    measured = figures.metrics()
    for title, results, outcomes in (
        ("that a tool serves", figures.served, figures.outcomes()),
        ("that no tool serves", figures.unserved, figures.unserved_outcomes()),
    ):
        if results:
            _print_shares(
                f"{pluralize(len(results), 'request')} {title}",
                {str(name): i for name, i in outcomes.items()},
            )
    tools_found = {name: measured[name] for name in ("tool@1", "tool@5") if name in measured}
    if tools_found:
        _print_shares("A right tool among the first", tools_found)
    _print_thresholds(figures.thresholds())
    _write(
        json,
        measured,
        [
            {
                "id": r.request.id,
                "outcome": str(r.outcome),
                "tool_at": r.tool_at,
                "tool": r.planned,
                "fits": r.fits,
            }
            for r in figures.results
        ],
    )
    _check(measured, minima)


def _print_shares(title: str, shares: "Mapping[str, Interval]") -> None:
    table = _table(title)
    table.add_column("")
    table.add_column("%", justify="right")
    for name, interval in shares.items():
        table.add_row(name, _share(interval))
    output.out.print(table)


def _print_thresholds(thresholds: "Sequence[FitThreshold]") -> None:
    for threshold in thresholds:
        output.out.print(f"At most {threshold.allowed:.0%} false refusals: {threshold}", highlight=False)


def _table(title: str) -> Table:
    note = "in percent, ± half the width of the 95% bootstrap interval over requests"
    output.out.print(f"[bold]{title}[/], {note}", highlight=False, soft_wrap=True)
    return Table()


def _share(interval: "Interval") -> str:
    half = (interval.high - interval.low) / 2
    return f"{100 * interval.mean:.1f}" + ("" if math.isnan(half) else f" ±{100 * half:.1f}")


def _minima(settings: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    minima: dict[str, float] = {}
    for setting in settings:
        name, _, value = (part.strip() for part in setting.partition("="))
        try:
            minimum = float(value)
        except ValueError:
            minimum = math.nan
        if name not in names or not 0 <= minimum <= 1:
            raise InvalidRequestError(
                f"invalid threshold {setting!r}: write NAME=0.9, with one of {', '.join(names)}"
            )
        minima[name] = minimum
    return minima


def _check(measured: "Mapping[str, Interval]", minima: Mapping[str, float]) -> None:
    from contextune.evaluate.thresholds import Threshold, ThresholdResult

    failed = False
    for name, minimum in minima.items():
        if name not in measured:
            raise InvalidRequestError(f"{name} was not measured: no request of the file has a label for it")
        result = ThresholdResult(Threshold(name, minimum), measured[name])
        if result.passed:
            output.out.print(f"[green]✓[/] {result}", highlight=False)
        else:
            failed = True
            output.err.print(f"[bold red]below the threshold:[/] {result}", highlight=False, soft_wrap=True)
    if failed:
        raise typer.Exit(1)


def _write(
    file: Path | None, measured: "Mapping[str, Interval]", results: Sequence[Mapping[str, Any]]
) -> None:
    if file is None:
        return
    metrics = {
        name: {
            "mean": interval.mean,
            "low": None if math.isnan(interval.low) else interval.low,
            "high": None if math.isnan(interval.high) else interval.high,
        }
        for name, interval in measured.items()
    }
    text = json_module.dumps({"metrics": metrics, "requests": results}, ensure_ascii=False, indent=2)
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidRequestError(f"{file}: cannot be written: {error.strerror or error}") from None
