"""Roles of the server: the one that superusers take on, and what a role lacks to use the tables."""

from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg
from psycopg import sql

from contextune.store.postgres.schema import ROLE

if TYPE_CHECKING:
    Connection = psycopg.Connection[tuple[Any, ...]]


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
