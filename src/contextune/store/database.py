"""A file of ours in use: read in one piece, written wholly or not at all, by many threads and processes."""

import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from contextune.errors import StoreError
from contextune.store import sqlite_file as file
from contextune.store.schema import FileKind

_lock = threading.RLock()
"""Guards the books of all files, so that a fork needs to hold one lock only."""


@dataclass(slots=True)
class _PooledConnection:
    connection: sqlite3.Connection
    calls: int = 0
    """How many calls are using it; above one where an iterable given to a store asks the store itself."""


class ConnectionPool:
    """The connections to one file. A thread that ended leaves its connection to the next of its number."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], name: str) -> None:
        self._connect = connect
        self._name = name
        self._lines: dict[tuple[int, int], _PooledConnection] = {}
        self._closed = False
        with _lock:
            _all.add(self)

    @contextmanager
    def use(self) -> Generator[sqlite3.Connection]:
        """The connection of the calling thread."""
        key = os.getpid(), threading.get_ident()
        with _lock:
            if self._closed:
                raise StoreError(f"{self._name} is closed: open it again")
            line = self._lines.get(key)
            if line is None:
                line = self._lines[key] = _PooledConnection(self._connect())
            line.calls += 1
        try:
            yield line.connection
        finally:
            with _lock:
                line.calls -= 1
                if self._closed:
                    self.close_idle()

    def close(self) -> None:
        """Close all connections: those at rest now, the others as soon as their call is done."""
        with _lock:
            self._closed = True
            self.close_idle()

    def close_idle(self) -> None:
        """Close what no call is using."""
        for key, line in list(self._lines.items()):
            if line.calls == 0 and key[0] == os.getpid():
                del self._lines[key]
                line.connection.close()


_all: WeakSet[ConnectionPool] = WeakSet()


def _before_fork() -> None:
    _lock.acquire()
    for connections in list(_all):
        connections.close_idle()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)


class Database:
    """A SQLite file of some kind. It is made where it is missing, and refused untouched if it is another."""

    def __init__(self, path: str | Path, kind: FileKind, timeout: float) -> None:
        self.path = Path(path).absolute()
        self._kind = kind
        self._timeout = timeout
        file.prepare(self.path, kind, timeout)
        name = f"the {kind.noun} {str(self.path)!r}"
        self._connections = ConnectionPool(lambda: file.connect(self.path, timeout), name)

    def __enter__(self) -> Self:
        """Use it in a `with` block, which closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the files."""
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        self._connections.close()

    @contextmanager
    def _connection(self) -> Generator[sqlite3.Connection]:
        try:
            with self._connections.use() as connection:
                yield connection
        except sqlite3.Error as error:
            raise file.explained(error, self.path, self._kind) from error

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        """One snapshot for the whole call: between two, a user key may have passed to somebody else."""
        with self._connection() as connection:
            if connection.in_transaction:  # asked by an iterable that is just being written
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:  # a broken disk may have ended it already
                    connection.execute("ROLLBACK")

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._connection() as connection:
            if connection.in_transaction:
                raise StoreError(
                    f"an iterable given to a {self._kind.noun} must not write to it: make a list of it first"
                )
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk may have rolled back already
                    connection.execute("ROLLBACK")
                raise


def select_in(
    connection: sqlite3.Connection, query: str, values: Sequence[Any], wanted: Sequence[str | bytes]
) -> list[Any]:
    """All rows of a query with `IN ({})`, in portions: SQLite takes no endless list of parameters."""
    rows: list[Any] = []
    for start in range(0, len(wanted), 500):
        portion = wanted[start : start + 500]
        marks = ",".join("?" * len(portion))
        rows += connection.execute(query.format(marks), (*values, *portion)).fetchall()
    return rows
