"""`contextune bench serve`: load, overload and soak tests of the HTTP service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.errors import InvalidRequestError
from contextune_lab.cli.bench.options import Out
from contextune_lab.cli.bench.recording import record
from contextune_lab.cli.bench.speed import print_figures, record_figures

_PERSONAS = 20
"""Personas that users are copies of; more would only take longer to embed."""

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contextune_lab.bench.speed.load_client import LoadProfile, LoadResult


def serve(
    users: Annotated[int, typer.Option(min=1, help="Number of users, copies of the bundled personas.")] = 60,
    requests: Annotated[int, typer.Option(min=1, help="Number of requests.")] = 2000,
    clients: Annotated[int, typer.Option(min=1, help="Number of parallel clients.")] = 8,
    rate: Annotated[float | None, typer.Option(help="Requests per second; default: unlimited.")] = None,
    overload: Annotated[
        list[float] | None,
        typer.Option(help="Also send this many times the maximum rate; may be repeated."),
    ] = None,
    patience: Annotated[
        float, typer.Option(help="Seconds after which a client gives up, with --overload.")
    ] = 2.0,
    flood: Annotated[
        bool, typer.Option("--flood", help="Time a user alone, and beside another who floods the service.")
    ] = False,
    minutes: Annotated[
        float | None,
        typer.Option(help="Also send 60 % of the maximum rate for so long, and watch for leaks."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes of the service.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads per process.")] = None,
    fresh: Annotated[bool, typer.Option(help="Never repeat a request; --no-fresh repeats them.")] = True,
    out: Out = None,
) -> None:
    """Load-test the HTTP service with many users, and look for items of other users in the answers."""
    from contextune_lab.bench.speed.load_client import LoadProfile

    if sum(map(bool, (rate, overload, minutes))) > 1 or (flood and (overload or minutes)):
        raise InvalidRequestError("--rate or --flood, --overload and --minutes exclude each other: pass one")
    profile = LoadProfile(requests, clients, rate, fresh)
    if overload:
        load = _overload(profile, overload, patience, users, workers, threads, out)
    elif flood:
        load = _flood(profile, workers, threads, out)
    elif minutes is not None:
        load = _soak(profile, minutes, users, workers, threads, out)
    else:
        load = _load(profile, users, workers, threads, out)
    if load.leaks:
        raise typer.Exit(1)


def _load(
    profile: "LoadProfile", users: int, workers: int, threads: int | None, out: Path | None
) -> "LoadResult":
    from contextune.datasets import bundled_personas
    from contextune_lab.bench.speed import http_load

    with output.progress("Requests") as update:
        load = http_load.measure(
            bundled_personas()[:_PERSONAS], profile, users=users, workers=workers, threads=threads,
            progress=update,
        )  # fmt: skip
    figures = {"requests per second": load.rate, **_latencies(load)}
    print_figures(f"{load.requests:,} requests for context of {load.users:,} users", figures)
    record_figures(out, "serve", figures)
    return load


def _overload(
    profile: "LoadProfile",
    factors: "Sequence[float]",
    patience: float,
    users: int,
    workers: int,
    threads: int | None,
    out: Path | None,
) -> "LoadResult":
    from contextune.datasets import bundled_personas
    from contextune_lab.bench.speed import goodput

    with output.progress("Requests") as update:
        result = goodput.measure(
            bundled_personas()[:_PERSONAS], profile, factors=factors, patience=patience, users=users,
            workers=workers, threads=threads, progress=update,
        )  # fmt: skip
    loads = {"as fast as answered": result.maximum}
    loads |= {f"{factor:g} times the maximum": load for factor, load in result.overloads.items()}
    rows = {
        name: {
            "answers in time per second": run.load.rate,
            "% of the maximum": 100 * run.load.rate / result.maximum.load.rate,
            "median ms": run.load.p50,
            "99 % ms": run.load.p99,
            "refused %": 100 * run.load.refused / run.load.requests,
            "given up %": 100 * run.load.late / run.load.requests,
            "memory MB": run.megabytes,
        }
        for name, run in loads.items()
    }
    options = " ".join(f"--overload {factor:g}" for factor in factors)
    _print_and_record(out, "serve-overload", f"contextune bench serve {options}", "requests", rows)
    return max((run.load for run in loads.values()), key=lambda load: load.leaks)


def _flood(profile: "LoadProfile", workers: int, threads: int | None, out: Path | None) -> "LoadResult":
    from contextune.datasets import bundled_personas
    from contextune_lab.bench.speed import goodput

    with output.progress("Requests") as update:
        result = goodput.measure_fairness(
            bundled_personas()[:2],
            profile,
            rate=profile.rate,
            workers=workers,
            threads=threads,
            progress=update,
        )
    loads = {"user alone": result.alone, "user beside the flood": result.beside, "the flood": result.flood}
    rows = {
        name: {
            "requests": load.requests,
            "answered %": 100 * (1 - load.failures / load.requests),
            "median ms": load.p50,
            "99 % ms": load.p99,
        }
        for name, load in loads.items()
    }
    _print_and_record(out, "serve-flood", "contextune bench serve --flood", "", rows)
    return max(loads.values(), key=lambda load: load.leaks)


def _print_and_record(
    out: Path | None, name: str, command: str, corner: str, rows: "Mapping[str, Mapping[str, float]]"
) -> None:
    from contextune_lab.bench.results_file import BenchTable, Cell, Row

    columns = list(next(iter(rows.values())))
    shown = Table(corner, *columns, title=command)
    for row, figures in rows.items():
        shown.add_row(row, *(f"{figure:,.1f}" for figure in figures.values()))
    output.out.print(shown)
    digits = [1 if column.endswith(("second", "ms")) else 0 for column in columns]
    cells = [Row(row, [Cell(figure) for figure in figures.values()]) for row, figures in rows.items()]
    record(out, BenchTable(name, command, columns, cells, digits, corner), part="speed")


def _soak(
    profile: "LoadProfile", minutes: float, users: int, workers: int, threads: int | None, out: Path | None
) -> "LoadResult":
    from contextune.datasets import bundled_personas
    from contextune_lab.bench.speed import soak

    with output.progress("Requests") as update:
        result = soak.measure(
            bundled_personas()[:_PERSONAS], profile, seconds=60 * minutes, users=users, workers=workers,
            threads=threads, progress=update,
        )  # fmt: skip
    first, last = result.first, result.last
    figures = {
        "requests per second": result.rate,
        "memory once caches are full, MB": first.megabytes,
        "memory at the end, MB": last.megabytes,
        "growth of memory, MB per hour": result.megabytes_per_hour,
        "descriptors once caches are full": first.descriptors,
        "descriptors at the end": last.descriptors,
        **_latencies(result.load),
    }
    print_figures(f"{result.load.requests:,} requests in {minutes:g} minutes", figures)
    record_figures(out, "serve-soak", figures, f"serve --minutes {minutes:g}")
    return result.load


def _latencies(load: "LoadResult") -> dict[str, float]:
    return {
        "median, ms": load.p50,
        "95 %, ms": load.p95,
        "99 %, ms": load.p99,
        "items in the answers": load.items,
        "items of other users": load.leaks,
        "failed requests": load.failures,
    }
