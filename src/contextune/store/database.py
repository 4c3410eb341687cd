"""SQLite connections per thread, and transactions, for many threads and processes."""

import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from weakref import WeakSet

from contextune.errors import StoreError
from contextune.store import sqlite_file
from contextune.store.schema import DatabaseSchema

_lock = threading.RLock()
"""Guards all connection pools, so that a fork has to hold only one lock."""


@dataclass(slots=True)
class _PooledConnection:
    connection: sqlite3.Connection
    calls: int = 0
    """Calls using it now; more than one if an iterable passed to a store reads from that store."""


class ConnectionPool:
    """The connections to one file, one per thread. A new thread reuses that of an ended thread of its id."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], name: str) -> None:
        self._connect = connect
        self._name = name
        self._pooled: dict[tuple[int, int], _PooledConnection] = {}
        self._closed = False
        with _lock:
            _pools.add(self)

    @contextmanager
    def use(self) -> Generator[sqlite3.Connection]:
        """The connection of the calling thread, opened on first use."""
        key = os.getpid(), threading.get_ident()
        with _lock:
            if self._closed:
                raise StoreError(f"{self._name} is closed: open it again")
            pooled = self._pooled.get(key)
            if pooled is None:
                pooled = self._pooled[key] = _PooledConnection(self._connect())
            pooled.calls += 1
        try:
            yield pooled.connection
        finally:
            with _lock:
                pooled.calls -= 1
                if self._closed:
                    self.close_idle()

    def close(self) -> None:
        """Close all connections: idle ones now, the others when their call ends."""
        with _lock:
            self._closed = True
            self.close_idle()

    def close_idle(self) -> None:
        """Close the connections that no call is using."""
        for key, pooled in list(self._pooled.items()):
            if pooled.calls == 0 and key[0] == os.getpid():
                del self._pooled[key]
                pooled.connection.close()


_pools: WeakSet[ConnectionPool] = WeakSet()


def _before_fork() -> None:
    _lock.acquire()
    for pool in list(_pools):
        pool.close_idle()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)


class Database:
    """A SQLite file with a known schema: created if missing, refused unchanged if it is another file."""

    def __init__(self, path: str | Path, schema: DatabaseSchema, timeout: float) -> None:
        self.path = Path(path).absolute()
        self._schema = schema
        self._timeout = timeout
        sqlite_file.prepare(self.path, schema, timeout)
        name = f"the {schema.noun} {str(self.path)!r}"
        self._connections = ConnectionPool(lambda: sqlite_file.connect(self.path, timeout), name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections to the file."""
        self._connections.close()

    @contextmanager
    def _connection(self) -> Generator[sqlite3.Connection]:
        try:
            with self._connections.use() as connection:
                yield connection
        except sqlite3.Error as error:
            raise sqlite_file.describe_error(error, self.path, self._schema) from error

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        """One snapshot for the whole call: between two, another user may have got the same key."""
        with self._connection() as connection:
            if connection.in_transaction:  # called by an iterable that is being written
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:  # a disk error may have ended it already
                    connection.execute("ROLLBACK")

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._connection() as connection:
            if connection.in_transaction:
                raise StoreError(
                    f"an iterable passed to a {self._schema.noun} must not write to it: make it a list first"
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
    connection: sqlite3.Connection,
    query: str,
    values: Sequence[Any],
    wanted: Sequence[str | bytes] | Sequence[int],
) -> list[Any]:
    """All rows of a query with `IN ({})`, in batches: SQLite limits the number of parameters."""
    rows: list[Any] = []
    for start in range(0, len(wanted), 500):
        batch = wanted[start : start + 500]
        marks = ",".join("?" * len(batch))
        rows += connection.execute(query.format(marks), (*values, *batch)).fetchall()
    return rows
