"""The extension pgvector: create it, and check its version."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from contextune.errors import StoreError

if TYPE_CHECKING:
    Connection = psycopg.Connection[tuple[Any, ...]]

_OLDEST = (0, 8)


def create_extension(connection: "Connection", name: str) -> None:
    """Create pgvector where it is missing; raise `StoreError` if that fails or it is too old."""
    installed = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    row = connection.execute(installed).fetchone()
    if row is None:
        available = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
        if available.fetchone() is None:
            raise StoreError(f"{name} lacks the extension pgvector: install it on the server (0.8 or later)")
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        except psycopg.errors.InsufficientPrivilege as error:
            raise StoreError(
                f"{name} lacks the extension pgvector, and the role {connection.info.user!r} may not create "
                "it: in this database, as a superuser: CREATE EXTENSION vector"
            ) from error
        row = connection.execute(installed).fetchone()
    check_version(str(row[0]) if row else "", name)


@contextmanager
def explain_privileges(connection: "Connection", name: str, schema: str) -> Generator[None]:
    """Raise `StoreError` if the role may not create or use a schema within the block."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{name}: the role {connection.info.user!r} may not create or use the schema {schema}: give it "
            "CREATE on the database, or use the role that owns the schema"
        ) from error


def check_version(version: str, name: str) -> None:
    """Raise `StoreError` for a version of pgvector that lacks iterative scans."""
    if tuple(int(number) for number in re.findall(r"\d+", version)[:2]) < _OLDEST:
        raise StoreError(
            f"{name} has pgvector {version}: 0.8 or later is needed; install it on the server, then as a "
            "superuser: ALTER EXTENSION vector UPDATE"
        )
