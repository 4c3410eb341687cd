"""Load many tools into a catalogue in PostgreSQL: build its search indexes once, not row by row."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString, cast

from contextune.tools.large import postgres_schema as sql

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

_MIN_TOOLS = 2000
_BYTES_PER_TOOL = 2200
"""Memory for building the graph: a vector of 384 half-precision numbers, and links to neighbours."""
_MAX_MEMORY = 2**31


@contextmanager
def rebuilt_indexes(connection: "Connection", written: int | None) -> Generator[None]:
    """Drop the search indexes for the block if it doubles the catalogue, and build them after it.

    `written` is the number of tools that the block writes, None for very many. The role must own the
    table; otherwise the indexes are extended row by row.
    """
    tools = int(connection.execute("SELECT tools FROM state").fetchall()[0][0])
    few = written is not None and written < max(_MIN_TOOLS, tools)
    if few or not _owns_table(connection):
        yield
        return
    for name, _ in sql.SEARCH_INDEXES:
        connection.execute(cast("LiteralString", f"DROP INDEX IF EXISTS {sql.SCHEMA}.{name}"))
    yield
    size = connection.execute("SELECT count(*) FROM tools").fetchall()[0][0]
    _allow_memory(size * _BYTES_PER_TOOL, connection)
    names = {"schema": sql.SCHEMA, "operators": "halfvec_ip_ops"}
    for _, statement in sql.SEARCH_INDEXES:
        connection.execute(cast("LiteralString", statement.format(**names)))


def _owns_table(connection: "Connection") -> bool:
    query = "SELECT pg_has_role(tableowner, 'USAGE') FROM pg_tables WHERE (schemaname, tablename) = (%s, %s)"
    row = connection.execute(query, (sql.SCHEMA, "tools")).fetchone()
    return bool(row and row[0])


def _allow_memory(size: int, connection: "Connection") -> None:
    """Let this transaction build a graph in memory, up to two gigabytes; beyond, building is slow."""
    query = "SELECT pg_size_bytes(current_setting('maintenance_work_mem'))"
    current = int(connection.execute(query).fetchall()[0][0])
    kilobytes = min(_MAX_MEMORY - 1024, size) // 1024
    if kilobytes * 1024 > current:
        connection.execute("SELECT set_config('maintenance_work_mem', %s, true)", (f"{kilobytes}kB",))
