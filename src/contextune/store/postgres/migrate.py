"""Create and migrate the tables of a PostgreSQL store, one process at a time."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg

from contextune.errors import StoreError
from contextune.store.postgres.roles import (
    bypasses_row_security,
    explain_lack_of_privilege,
    grant,
    has_grants,
)
from contextune.store.postgres.schema import MIGRATIONS

if TYPE_CHECKING:
    Connection = psycopg.Connection[tuple[Any, ...]]

_LOCK = 0x4354554E
"""Number of the advisory lock that a migration holds: "CTUN"."""
_MIN_SERVER = 150000
"""PostgreSQL 15: unique constraints in which two missing places are the same."""


def prepare(connection: "Connection", name: str, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Create the tables, or apply the missing migrations, each in its own transaction.

    Other processes wait. A database that a newer Contextune has written is refused unchanged.
    """
    if connection.info.server_version < _MIN_SERVER:
        raise StoreError(
            f"{name} runs PostgreSQL {connection.info.server_version // 10000}: use version 15 or later"
        )
    try:
        if schema_version(connection, name, len(migrations)) < len(migrations):
            _migrate(connection, name, migrations)
        elif bypasses_row_security(connection) and not has_grants(connection):
            # migrated by a role that is subject to row-level security
            with _lock(connection), connection.transaction():
                grant(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(explain_lack_of_privilege(connection, name)) from error


def _migrate(connection: "Connection", name: str, migrations: Sequence[Sequence[str]]) -> None:
    with _lock(connection):
        if not _value(connection, "SELECT to_regnamespace('contextune') IS NOT NULL"):
            connection.execute("CREATE SCHEMA IF NOT EXISTS contextune")
        connection.execute("SET search_path = contextune")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations "
            "(version int PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())"
        )
        # again, now with the lock: another process may be faster
        done = schema_version(connection, name, len(migrations))
        for version in range(done, len(migrations)):
            with connection.transaction():
                for statement in migrations[version]:
                    connection.execute(cast("LiteralString", statement))
                connection.execute("INSERT INTO migrations (version) VALUES (%s)", (version + 1,))
                if bypasses_row_security(connection):
                    grant(connection)


@contextmanager
def _lock(connection: "Connection") -> Generator[None]:
    connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def schema_version(connection: "Connection", name: str, supported: int) -> int:
    """Number of migrations applied to this database; raise `StoreError` if there are more than supported."""
    if not _value(connection, "SELECT to_regclass('contextune.migrations') IS NOT NULL"):
        return 0
    version = int(_value(connection, "SELECT coalesce(max(version), 0) FROM contextune.migrations"))
    if version > supported:
        raise StoreError(
            f"{name} is a store of version {version}, written by a newer Contextune; this one supports "
            f"version {supported}: pip install -U contextune"
        )
    return version


def _value(connection: "Connection", query: LiteralString) -> int:
    row = connection.execute(query).fetchone()
    return row[0] if row else 0
