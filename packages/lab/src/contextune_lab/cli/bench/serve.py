"""`contextune bench serve`: load, overload and soak tests of the HTTP service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import output
from contextune.errors import InvalidRequestError
from contextune_lab.cli.bench.options import Out
from contextune_lab.cli.bench.speed import print_figures, record_figures

_PERSONAS = 20
"""Personas that users are copies of; more would only take longer to embed."""

if TYPE_CHECKING:
    from contextune_lab.bench.speed.load_client import LoadProfile, LoadResult


def serve(
    users: Annotated[int, typer.Option(min=1, help="Number of users, copies of the bundled personas.")] = 60,
    requests: Annotated[int, typer.Option(min=1, help="Number of requests.")] = 2000,
    clients: Annotated[int, typer.Option(min=1, help="Number of parallel clients.")] = 8,
    rate: Annotated[float | None, typer.Option(help="Requests per second; default: unlimited.")] = None,
    overload: Annotated[
        float | None,
        typer.Option(help="Also send this many times the maximum rate, and measure the goodput."),
    ] = None,
    patience: Annotated[
        float, typer.Option(help="Seconds after which a client gives up, with --overload.")
    ] = 2.0,
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

    if sum(option is not None for option in (rate, overload, minutes)) > 1:
        raise InvalidRequestError("--rate, --overload and --minutes exclude each other: pass one of them")
    profile = LoadProfile(requests, clients, rate, fresh)
    if overload is not None:
        load = _overload(profile, overload, patience, users, workers, threads, out)
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
    factor: float,
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
            bundled_personas()[:_PERSONAS], profile, factor=factor, patience=patience, users=users,
            workers=workers, threads=threads, progress=update,
        )  # fmt: skip
    load = result.overload
    figures = {
        "maximum, answers per second": result.maximum.rate,
        "overload, answers in time per second": load.rate,
        "overload, answers in time, % of the maximum": 100 * result.share,
        "requests refused with 503": load.refused,
        "requests whose client gave up": load.late,
        **_latencies(load),
    }
    print_figures(f"{load.requests:,} requests at {factor:g} times the maximum rate", figures)
    record_figures(out, "serve-overload", figures, f"serve --overload {factor:g}")
    return load


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
