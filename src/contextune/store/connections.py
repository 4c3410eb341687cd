"""One SQLite connection for each thread of each process, closed together.

SQLite's locks belong to a process: a connection carried through a fork would take the parent's
locks for its own. So before a fork every connection at rest is closed, and each side opens
its own when it next needs one; the process id in the key stands guard over those not at rest.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakSet

from contextune.errors import StoreError

_lock = threading.RLock()
"""Guards the books of all files, so that a fork needs to hold one lock only."""


@dataclass(slots=True)
class _Line:
    connection: sqlite3.Connection
    calls: int = 0
    """How many calls are using it; above one where an iterable given to a store asks the store itself."""


class Connections:
    """The connections to one file. A thread that ended leaves its connection to the next of its number."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], name: str) -> None:
        self._connect = connect
        self._name = name
        self._lines: dict[tuple[int, int], _Line] = {}
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
                line = self._lines[key] = _Line(self._connect())
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


_all: WeakSet[Connections] = WeakSet()


def _before_fork() -> None:
    _lock.acquire()
    for connections in list(_all):
        connections.close_idle()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)
