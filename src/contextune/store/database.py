"""A file of ours in use: read in one piece, written wholly or not at all, by many threads and processes."""

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from contextune.errors import StoreError
from contextune.store import file
from contextune.store.connections import Connections
from contextune.store.migrations import Kind


class Database:
    """A SQLite file of some kind. It is made where it is missing, and refused untouched if it is another."""

    def __init__(self, path: str | Path, kind: Kind, timeout: float) -> None:
        self.path = Path(path).absolute()
        self._kind = kind
        self._timeout = timeout
        file.prepare(self.path, kind, timeout)
        name = f"the {kind.noun} {str(self.path)!r}"
        self._connections = Connections(lambda: file.connect(self.path, timeout), name)

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
