"""`contextune bench cluster` and `contextune bench growth`: the service on several machines."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import output
from contextune_lab.cli.bench.options import Out
from contextune_lab.cli.bench.recording import record
from contextune_lab.cli.bench.speed import print_figures, record_figures

if TYPE_CHECKING:
    from contextune.types import Progress
    from contextune_lab.bench.speed.cluster.costs import ClusterCosts
    from contextune_lab.bench.speed.cluster.growth import Assumptions

_PERSONAS = 4
"""Personas that users are copies of: each costs the embedding of its items, before anything is measured."""


def cluster(
    store: Annotated[
        str | None,
        typer.Option("--store", help="postgresql://… of an empty database; default: a server is started."),
    ] = None,
    users: Annotated[int, typer.Option(min=2, help="Number of users.")] = 2000,
    minutes: Annotated[float, typer.Option(min=0.05, help="Minutes of steady load.")] = 10.0,
    processes: Annotated[int, typer.Option(min=2, help="Processes of the service.")] = 2,
    requests: Annotated[int, typer.Option(min=1, help="Requests at the maximum and at overload.")] = 1000,
    writes: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the requests that write.")] = 0.2,
    measurements: Annotated[
        Path | None, typer.Option(help="JSON file to write the costs to, for 'bench growth'.")
    ] = None,
    out: Out = None,
) -> None:
    """Load-test several processes over PostgreSQL: errors, leaks, latency, memory, overload, forgetting.

    Figures are written as soon as they are measured, so that an interruption loses only the rest.
    """
    from contextune.datasets import bundled_personas
    from contextune_lab.bench.speed.cluster import benchmark
    from contextune_lab.bench.speed.cluster.costs import write_costs

    seconds = benchmark.expected_seconds(users, minutes, requests)
    output.err.print(f"About {seconds / 60:.0f} minutes on two idle cores.", highlight=False)
    figures: dict[str, float] = {}
    command = f"cluster --users {users} --minutes {minutes:g}"

    def keep(part: Mapping[str, float]) -> None:
        figures.update(part)
        record_figures(out, "cluster", figures, command)

    try:
        costs = benchmark.measure(
            bundled_personas()[:_PERSONAS], url=store, users=users, minutes=minutes, processes=processes,
            requests=requests, writes=writes, show=_show_part, record=keep,
        )  # fmt: skip
    finally:
        if figures:
            print_figures(f"{processes} processes, {users:,} users, {minutes:g} minutes", figures)
    if measurements:
        write_costs(costs, measurements)
    if any(value for name, value in figures.items() if name.endswith("items of other users")):
        raise typer.Exit(1)


@contextmanager
def _show_part(title: str) -> "Generator[Progress]":
    """Show the progress of a part, and how long it took."""
    start = monotonic()
    with output.progress(title) as update:
        yield update
    output.err.print(f"{title}: {monotonic() - start:.0f} s", highlight=False)


def growth(
    measurements: Annotated[Path, typer.Option(help="JSON file that 'bench cluster' has written.")],
    users: Annotated[list[int] | None, typer.Option(min=1, help="Number of users; may be repeated.")] = None,
    requests_per_day: Annotated[float, typer.Option(min=0.001, help="Requests of each user.")] = 20.0,
    check: Annotated[
        bool,
        typer.Option("--check", help="Also run 200 users on two processes, and compare: about two minutes."),
    ] = False,
    out: Out = None,
) -> None:
    """Compute what many users need, by a simulation with measured costs."""
    import os

    from rich.table import Table

    from contextune_lab.bench.speed.cluster import growth as growth_bench
    from contextune_lab.bench.speed.cluster.costs import read_costs
    from contextune_lab.bench.speed_tables import growth_table
    from contextune_lab.docs.benchmark_tables import table_texts

    costs = read_costs(measurements)
    assumptions = growth_bench.Assumptions(requests_per_day=requests_per_day)
    rows = growth_bench.needs(costs, users or [10**3, 10**5, 10**7], assumptions)
    needs = growth_table(rows, assumptions.cores)
    title = f"Computed from {costs.users:,} users on {costs.processes} processes"
    table = Table(needs.corner, *needs.columns, title=title)
    for name, *values in table_texts(needs):
        table.add_row(name, *values)
    table.add_row("beyond one database", *(", ".join(row.limits) or "nothing" for row in rows))
    output.out.print(table)
    repeated = growth_bench.repeat_run(costs, (os.cpu_count() or 1) / costs.processes)
    figures: dict[str, float] = {
        f"users at which one database lacks {name}": value
        for name, value in growth_bench.first_limits(costs, assumptions).items()
    }
    figures |= {
        "check: median of the run, simulated, ms": repeated.p50,
        "check: median of the run, measured, ms": costs.p50,
        "check: 99 % of the run, simulated, ms": repeated.p99,
        "check: 99 % of the run, measured, ms": costs.p99,
    }
    if check:
        figures |= _check_simulation(costs, assumptions)
    print_figures("Limits of one database, and the measured run simulated", figures)
    record(out, needs, part="speed")
    record_figures(out, "growth", figures)


def _check_simulation(costs: "ClusterCosts", assumptions: "Assumptions") -> dict[str, float]:
    """Run a small configuration, and put what was predicted for it beside what is measured."""
    from contextune.datasets import bundled_personas
    from contextune_lab.bench.speed.cluster.growth_check import check_simulation

    result = check_simulation(costs, assumptions, bundled_personas()[:2], show=_show_part)
    name = f"{result.users} users"
    return {
        f"{name}: maximum, predicted, requests per second": result.predicted_maximum,
        f"{name}: maximum, measured, requests per second": result.maximum,
        f"{name}: maximum, predicted against measured": result.predicted_maximum / result.maximum,
        f"{name}: rate of the steady load, requests per second": result.rate,
        f"{name}: median, predicted, ms": result.predicted_p50,
        f"{name}: median, measured, ms": result.p50,
        f"{name}: median, predicted against measured": result.predicted_p50 / max(result.p50, 0.001),
        f"{name}: failed requests": result.failures,
    }
