"""The command that measures the HTTP service."""

from typing import Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.datasets import bundled_personas
from contextune.lab.bench.speed import http_load as bench


def add_to(app: typer.Typer) -> None:
    """Hang this module's command on the group."""
    app.command("serve")(serve)


def serve(
    users: Annotated[int, typer.Option(min=1, help="Users: copies of the bundled personas.")] = 60,
    requests: Annotated[int, typer.Option(min=1, help="Requests for context.")] = 2000,
    clients: Annotated[int, typer.Option(min=1, help="How many ask at once.")] = 8,
    rate: Annotated[float | None, typer.Option(help="Requests a second; default: as many as can be.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes of the service.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of each.")] = None,
    fresh: Annotated[bool, typer.Option(help="Say nothing twice; --no-fresh: the same things again.")] = True,
) -> None:
    """Ask the service as many users, time it, and look for items that belong to somebody else."""
    asking = bench.LoadProfile(requests, clients, rate, fresh)
    personas = bundled_personas()[: min(users, 20)]  # more would only take longer to embed
    with output.progress("Asking") as update:
        load = bench.measure(personas, asking, users=users, workers=workers, threads=threads, progress=update)
    table = Table("what", "figure", title=f"{load.requests:,} requests for context of {load.users:,} users")
    table.add_row("requests/s", f"{load.rate:.1f}")
    for name, value in {"median": load.p50, "95 %": load.p95, "99 %": load.p99}.items():
        table.add_row(f"{name}, ms", f"{value:.1f}")
    table.add_row("items in the answers", f"{load.items:,}")
    table.add_row("of somebody else", f"{load.leaks:,}")
    table.add_row("requests that failed", f"{load.failures:,}")
    output.out.print(table)
    if load.leaks:
        raise typer.Exit(1)
