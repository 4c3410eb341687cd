"""Check a store's file completely: structure, references, checksums of rows and counters."""

# ruff: noqa: S608  # statements are composed of names from the schema only

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from contextune.errors import DamagedStoreError, StoreError
from contextune.store import sqlite_file
from contextune.store.checksums import row_checksum
from contextune.store.schema import CHECKSUMS, SIZES, STORE_SCHEMA, bytes_of, schema_version

_MAX_PROBLEMS = 20
_CHECKSUM_VERSION = 4
"""The first version of the schema with checksums and sizes."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What `verify` found."""

    users: int = 0
    items: int = 0
    problems: tuple[str, ...] = ()
    """Damage, without any stored text; empty for a sound store."""
    has_checksums: bool = True
    """False for a store of an earlier version, of which only the structure can be checked."""


def verify(path: Path, *, timeout: float = 30.0) -> StoreCheck:
    """Read the whole store, without changing it. Other processes may use it meanwhile.

    Raises `StoreError` if it is missing, locked or not a store.
    """
    path = path.absolute()
    problems: list[str] = []
    try:
        with closing(sqlite_file.open_existing(path, STORE_SCHEMA, timeout)) as connection:
            connection.execute("BEGIN")  # one snapshot for all checks
            has_checksums = schema_version(connection) >= _CHECKSUM_VERSION
            checks = [_structure(connection)]
            if has_checksums:
                checks += [_checksums(connection), _sizes(connection)]
            for check in checks:
                try:
                    problems.extend(check)
                except sqlite3.Error as error:
                    problems.append(f"cannot be read ({sqlite_file.reason(error)})")
            if problems:
                return StoreCheck(problems=tuple(problems[:_MAX_PROBLEMS]), has_checksums=has_checksums)
            users, items = connection.execute(
                "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM items)"
            ).fetchone()
            return StoreCheck(users, items, has_checksums=has_checksums)
    except DamagedStoreError as error:
        return StoreCheck(problems=(str(error),))


def require_sound(path: Path, *, timeout: float = 30.0) -> StoreCheck:
    """Like `verify`, but raise `DamagedStoreError` if there is damage."""
    check = verify(path, timeout=timeout)
    if check.problems:
        raise DamagedStoreError(f"{str(path)!r} is damaged: {check.problems[0]}; use another backup")
    return check


def _structure(connection: sqlite3.Connection) -> Iterator[str]:
    for (message,) in connection.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})"):
        if message != "ok":
            yield str(message)
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"a row of the table {table} refers to a row that does not exist"


def _checksums(connection: sqlite3.Connection) -> Iterator[str]:
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    for table, columns in CHECKSUMS.items():
        query = f"SELECT count(*) FROM {table} WHERE checksum IS NOT row_checksum({columns})"
        (count,) = connection.execute(query).fetchone()
        if count:
            yield f"rows of the table {table} that do not match their checksum: {count}"


def _sizes(connection: sqlite3.Connection) -> Iterator[str]:
    for table, (total, columns) in SIZES.items():
        query = f"""SELECT count(*) FROM users LEFT JOIN sizes ON sizes.user = users.key LEFT JOIN (
            SELECT user, count(*) AS n, sum({bytes_of(columns)}) AS size FROM {table} GROUP BY user
        ) AS actual ON actual.user = users.key
        WHERE sizes.{table} IS NOT ifnull(n, 0) OR sizes.{total} IS NOT ifnull(size, 0)"""
        (count,) = connection.execute(query).fetchone()
        if count:
            yield f"users with missing rows in the table {table}: {count}"


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The error of a store at this path."""
    return sqlite_file.describe_error(error, path, STORE_SCHEMA)
