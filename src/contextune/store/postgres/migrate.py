"""Create and migrate the tables of a PostgreSQL store, one process at a time, and grant them to roles."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg
from psycopg import sql

from contextune.errors import StoreError
from contextune.store.postgres.schema import MIGRATIONS, ROLE

if TYPE_CHECKING:
    Connection = psycopg.Connection[tuple[Any, ...]]

_LOCK = 0x4354554E
"""Number of the advisory lock that a migration holds: "CTUN"."""
_MIN_SERVER = 150000
"""PostgreSQL 15: unique constraints in which two missing places are the same."""


def bypasses_row_security(connection: "Connection") -> bool:
    """Whether the current role is not subject to row-level security."""
    query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    return bool(_value(connection, query))


def has_grants(connection: "Connection") -> bool:
    """Whether the current role can take on the role for queries, and that one can use all tables."""
    return _role_has_schema(connection) and bool(
        _value(
            connection,
            f"""SELECT pg_has_role('{ROLE}', 'MEMBER') AND NOT EXISTS (
                SELECT 1 FROM pg_class
                WHERE relnamespace = 'contextune'::regnamespace AND relkind IN ('r', 'p')
                AND NOT has_table_privilege('{ROLE}', oid, 'DELETE')
            )""",  # noqa: S608  # a fixed name
        )
    )


def grant(connection: "Connection") -> None:
    """Create the role for queries, let the current role take it on, and let it use the tables."""
    # Roles belong to all databases of a server: another one may do the same at the same time.
    connection.execute(f"""DO $$ BEGIN
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}') THEN
            CREATE ROLE {ROLE} NOLOGIN;
        END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$""")  # noqa: S608  # a fixed name
    if not _value(connection, f"SELECT pg_has_role('{ROLE}', 'MEMBER')"):
        connection.execute(f"GRANT {ROLE} TO CURRENT_USER")
    connection.execute(f"GRANT USAGE ON SCHEMA contextune TO {ROLE}")
    connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA contextune TO {ROLE}")
    connection.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA contextune TO {ROLE}")


def _role_has_schema(connection: "Connection") -> bool:
    query = f"SELECT has_schema_privilege(oid, 'contextune', 'USAGE') FROM pg_roles WHERE rolname = '{ROLE}'"  # noqa: S608
    return bool(_value(connection, query))


def explain_lack_of_privilege(connection: "Connection", name: str) -> str:
    """What the current role lacks to open a store, who can grant it, and how."""
    role = _value(connection, "SELECT current_user")
    owner = _value(
        connection,
        "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'contextune'",
    )
    grantee = sql.Identifier(role).as_string(connection)
    if owner is None:
        database = sql.Identifier(connection.info.dbname).as_string(connection)
        return (
            f"{name}: the role {role!r} may not create the tables; as the owner of the database: "
            f"GRANT CREATE ON DATABASE {database} TO {grantee}"
        )
    if _role_has_schema(connection):
        remedy = f"GRANT {ROLE} TO {grantee}"
    else:
        remedy = (
            f"GRANT USAGE ON SCHEMA contextune TO {grantee}; "
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA contextune TO {grantee}; "
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA contextune TO {grantee}"
        )
    return (
        f"{name}: the tables belong to the role {owner!r}, and {role!r} may not use them; as a superuser: "
        f"{remedy} (migrations need the role {owner!r} or a superuser)"
    )


def _value(connection: "Connection", query: str) -> Any:
    row = connection.execute(cast("LiteralString", query)).fetchone()
    return row[0] if row else None


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
