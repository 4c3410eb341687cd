"""Create and migrate the tables of a PostgreSQL store, one process at a time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, LiteralString, cast

from contextune.errors import StoreError
from contextune.store.postgres.schema import MIGRATIONS, ROLE

if TYPE_CHECKING:
    import psycopg

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
    if schema_version(connection, name, len(migrations)) == len(migrations):
        return
    connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
    try:
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
                    _grant(connection)
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


def bypasses_row_security(connection: "Connection") -> bool:
    """Whether the current role is not subject to row-level security."""
    query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    return bool(_value(connection, query))


def _grant(connection: "Connection") -> None:
    """Create the role that this one takes on for all queries, and let it use the tables."""
    if not _value(connection, f"SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}')"):  # noqa: S608  # fixed name
        connection.execute(f"CREATE ROLE {ROLE} NOLOGIN")
    connection.execute(f"GRANT {ROLE} TO CURRENT_USER")
    connection.execute(f"GRANT USAGE ON SCHEMA contextune TO {ROLE}")
    connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA contextune TO {ROLE}")
    connection.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA contextune TO {ROLE}")


def _value(connection: "Connection", query: LiteralString) -> int:
    row = connection.execute(query).fetchone()
    return row[0] if row else 0
