"""Check a store completely: structure, references, checksums of rows, counters, and the snapshots beside it.

Snapshots are compared with the digests in the store and with their own checksums.
"""

# ruff: noqa: S608  # statements are composed of names from the schema only

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextune.errors import DamagedStoreError, StoreError
from contextune.store import sqlite_file
from contextune.store.rows import row_checksum
from contextune.store.schema import CHECKSUMS, SIZES, STORE_SCHEMA, bytes_of, schema_version
from contextune.store.snapshots.files import snapshot_folder, snapshot_path
from contextune.store.snapshots.layout import SnapshotError, check_size, read_snapshot
from contextune.types import Progress

_QUERY = "SELECT digest FROM snapshots JOIN users ON users.key = user WHERE users.id = ? AND model = ?"
_ALL = "SELECT users.id, model FROM snapshots JOIN users ON users.key = user ORDER BY user, model"
_REPORTED_ROWS = 1000
_MAX_PROBLEMS = 20
_CHECKSUM_VERSION = 4
"""The first version of the schema with checksums and sizes."""


@dataclass(frozen=True, slots=True)
class SnapshotCheck:
    """How many snapshots there are, and those that cannot be used."""

    count: int = 0
    problems: tuple[str, ...] = ()
    """A file and what is wrong with it; file names are digests, without personal data."""

    @property
    def remedy(self) -> str:
        """What to do about the problems."""
        return (
            "snapshots are computed again at the next request, and nothing is lost; if it happens again, "
            "check the disk"
        )


def verify_snapshots(store: Path, connection: sqlite3.Connection, *, deep: bool = True) -> SnapshotCheck:
    """Check all snapshots of a store; unless `deep`, only their headers and sizes.

    `connection` must not be in a transaction: other processes may replace a snapshot meanwhile.
    """
    folder = snapshot_folder(store)
    exists = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'snapshots'").fetchone()
    if not exists or not folder.is_dir():
        return SnapshotCheck()
    count, problems = 0, list[str]()
    for user, model in connection.execute(_ALL).fetchall():
        path = snapshot_path(folder, user, model)
        if not path.exists():
            continue  # written when it is needed
        count += 1
        if problem := _problem(path, connection, user, model, deep):
            problems.append(f"{folder.name}/{path.name}: {problem}")
    return SnapshotCheck(count, tuple(problems))


def _problem(path: Path, connection: sqlite3.Connection, user: str, model: str, deep: bool) -> str:
    problem = ""
    for _ in range(2):  # another process may put a new one in its place between row and file
        row = connection.execute(_QUERY, (user, model)).fetchone()
        if row is None or not path.exists():
            return ""
        try:
            if deep:
                read_snapshot(path, row[0])
            else:
                check_size(path, row[0])
        except (SnapshotError, ValueError, LookupError, TypeError) as error:
            problem = str(error) if isinstance(error, SnapshotError) else type(error).__name__
        else:
            return ""
    return problem


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What `verify` found."""

    users: int = 0
    items: int = 0
    problems: tuple[str, ...] = ()
    """Damage, without any stored text; empty for a sound store."""
    has_checksums: bool = True
    """False for a store of an earlier version, of which only the structure can be checked."""
    snapshots: SnapshotCheck = field(default_factory=SnapshotCheck)
    """Of indexes, in files beside the store: they can be computed again, so the store is sound without."""


def verify(path: Path, *, timeout: float = 30.0, progress: Progress | None = None) -> StoreCheck:
    """Read the whole store, without changing it. Other processes may use it meanwhile.

    `progress` is called with the number of rows whose checksums were compared. Raises `StoreError` if it is
    missing, locked or not a store.
    """
    path = path.absolute()
    problems: list[str] = []
    try:
        with closing(sqlite_file.open_existing(path, STORE_SCHEMA, timeout)) as connection:
            connection.execute("BEGIN")  # one snapshot for all checks
            has_checksums = schema_version(connection) >= _CHECKSUM_VERSION
            checks = [_structure(connection)]
            if has_checksums:
                checks += [_checksums(connection, progress), _sizes(connection)]
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
            connection.execute("COMMIT")
            snapshots = verify_snapshots(path, connection)
            return StoreCheck(users, items, has_checksums=has_checksums, snapshots=snapshots)
    except DamagedStoreError as error:
        return StoreCheck(problems=(str(error),))


def require_sound(path: Path, *, timeout: float = 30.0, progress: Progress | None = None) -> StoreCheck:
    """Like `verify`, but raise `DamagedStoreError` if there is damage."""
    check = verify(path, timeout=timeout, progress=progress)
    if check.problems:
        raise DamagedStoreError(f"{str(path)!r} is damaged: {check.problems[0]}; use another backup")
    return check


def _structure(connection: sqlite3.Connection) -> Iterator[str]:
    for (message,) in connection.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})"):
        if message != "ok":
            yield str(message)
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"a row of the table {table} refers to a row that does not exist"


def _checksums(connection: sqlite3.Connection, progress: Progress | None) -> Iterator[str]:
    checksum = _counting_checksum(connection, progress) if progress else row_checksum
    connection.create_function("row_checksum", -1, checksum, deterministic=True)
    for table, columns in CHECKSUMS.items():
        query = f"SELECT count(*) FROM {table} WHERE checksum IS NOT row_checksum({columns})"
        (count,) = connection.execute(query).fetchone()
        if count:
            yield f"rows of the table {table} that do not match their checksum: {count}"


def _counting_checksum(connection: sqlite3.Connection, progress: Progress) -> Callable[..., int]:
    """`row_checksum` that reports how many of all rows it was called for."""
    counts = (connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in CHECKSUMS)
    total, done = sum(counts), 0

    def checksum(*values: Any) -> int:
        nonlocal done
        done += 1
        if done % _REPORTED_ROWS == 0 or done == total:
            progress(min(done, total), total)
        return row_checksum(*values)

    return checksum


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
    return sqlite_file.describe_error(error, path, STORE_SCHEMA)
