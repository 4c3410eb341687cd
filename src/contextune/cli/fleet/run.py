"""Options of all batch commands, and how they run: workers, checkpoint, progress and report."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextune.cli import output
from contextune.cli.options import DEFAULT_EMBEDDER, data_path, open_store, select_embedder, store_location
from contextune.errors import InvalidRequestError

if TYPE_CHECKING:
    from contextune.fleet import Checkpoint, Execute, RunReport
    from contextune.fleet.opening import MakeEmbedder, WorkerSettings

Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        envvar="CONTEXTUNE_RAY_ADDRESS",
        help="Ray cluster, as auto, HOST:PORT or ray://…; default: start Ray on this machine.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=0, help="Processes that work; 0 works in this process, without Ray. Default: cores."
    ),
]
CheckpointPath = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", help="File with what is done, to go on after an interruption; default: a data folder."
    ),
]


def worker_settings(
    store: str | None, embedder: str = DEFAULT_EMBEDDER, ranker: Path | None = None, *, create: bool = False
) -> "WorkerSettings":
    """What workers open; checks that the store exists."""
    from contextune.context.ranker import load_ranker
    from contextune.fleet.opening import WorkerSettings

    open_store(store, create=create).close()
    location = store_location(store)
    name = str(location.resolve()) if isinstance(location, Path) else location
    return WorkerSettings(name, make_embedder(embedder), load_ranker(ranker) if ranker else None)


def make_embedder(name: str) -> "MakeEmbedder | None":
    """How workers load the embedder of this name; None for the bundled one."""
    return None if name == DEFAULT_EMBEDDER else partial(select_embedder, name)


@contextmanager
def batch_run(
    command: str,
    settings: Sequence[Any],
    *,
    identity: Sequence[Any] = (),
    checkpoint: Path | None,
    address: str | None,
    workers: int | None,
    files: Sequence[str] = (),
) -> "Generator[tuple[Checkpoint, Execute]]":
    """Open the checkpoint of a run, and the cluster unless `workers` is 0.

    A run goes on if `settings` and `identity` are the same; `settings` name the default checkpoint. Workers
    open `files`: stores and catalogues.
    """
    from contextune.fleet import Checkpoint, run_locally

    if address and workers == 0:
        raise InvalidRequestError("--workers 0 works in this process: leave out --address")
    name = f"fleet-{command}-{_digest(settings)}.db"
    with ExitStack() as stack:
        run = _digest([command, *settings, *identity])
        opened = stack.enter_context(Checkpoint(data_path(checkpoint, name), run))
        execute = run_locally
        if workers != 0:
            from contextune.fleet.ray_cluster import ray_cluster

            with output.err.status("Starting Ray" if address is None else "Connecting to Ray"):
                execute = stack.enter_context(ray_cluster(address, workers, files))
        yield opened, execute


def _digest(values: Sequence[Any]) -> str:
    return blake2b(repr([str(value) for value in values]).encode(), digest_size=8).hexdigest()


def finish(checkpoint: "Checkpoint", *reports: "RunReport") -> None:
    """Delete the checkpoint of a complete run; else report what failed, and exit with status 1."""
    resumed = sum(report.resumed for report in reports)
    if resumed:
        output.err.print(f"{resumed:,} parts were done by an earlier run.", highlight=False)
    errors = [(name, count) for report in reports for name, count in report.errors.most_common()]
    if not errors:
        checkpoint.remove()
        return
    failed = ", ".join(f"{name} {count:,}" for name, count in errors)
    output.print_error(f"parts that failed: {failed}; run the command again to repeat only these")
    raise typer.Exit(1)
