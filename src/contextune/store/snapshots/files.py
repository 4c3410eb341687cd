"""SnapshotFiles: snapshots in a folder beside a SQLite file, erased with the data they were made from.

The store has a row with the digest of each snapshot. Changing or deleting an item deletes the row, within
the same transaction, and the file. A file without its row is not read.
"""

import logging
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from contextune.errors import StoreError, UnknownUserError
from contextune.store.protocol import StoreRevision, text_digest
from contextune.store.snapshots.layout import Sections, Snapshot, SnapshotError, read_snapshot, write_snapshot
from contextune.store.statements import user_key

MIN_ITEMS = 1000
"""For fewer items, computing everything again takes less than half a second."""
_TEMPORARY = ".new-"
_ABANDONED_S = 3600
"""A file of this age that the store does not know was left by a process that ended, or by another store."""
_MAX_CLOSING_S = 10.0
"""Closing a store begins no further snapshot after this time."""
_SELECT = "SELECT digest FROM snapshots WHERE user = ? AND model = ?"
_PUT = """INSERT INTO snapshots (user, model, digest) VALUES (?, ?, ?)
    ON CONFLICT (user, model) DO UPDATE SET digest = excluded.digest"""

_log = logging.getLogger("contextune.store")
Transaction = Callable[[], AbstractContextManager[sqlite3.Connection]]


def snapshot_folder(store: Path) -> Path:
    """The folder beside a SQLite file that has the snapshots of its users."""
    return store.with_name(f"{store.name}-snapshots")


def snapshot_path(folder: Path, user: str, model: str) -> Path:
    """The file of a user's snapshot."""
    return folder / f"{text_digest(user).hex()}-{text_digest(model).hex()[:8]}.snapshot"


class SnapshotFiles:
    """The snapshots of the users of one SQLite file. Safe for many threads and processes."""

    def __init__(
        self, store: Path, reading: Transaction, writing: Transaction, *, enabled: bool = True
    ) -> None:
        """`reading` and `writing` begin transactions of the store. If not enabled, they are only erased."""
        self.folder = snapshot_folder(store)
        self.min_items: int | None = MIN_ITEMS if enabled else None
        self._reading, self._writing = reading, writing
        self._thread: Thread | None = None
        self._deferred: dict[str, Callable[[], None]] = {}
        self._lock = Lock()
        self._remove_abandoned()

    def load(self, user: str, model: str) -> Snapshot | None:
        """The verified snapshot of a user; None if there is none that can be trusted."""
        path, reason = self._path(user, model), ""
        for _ in range(2):  # another process may put a new one in its place between row and file
            with self._reading() as connection:
                row = connection.execute(_SELECT, (user_key(connection, user), model)).fetchone()
            if row is None or not path.exists():
                return None
            try:
                return read_snapshot(path, row[0])
            except (SnapshotError, ValueError, LookupError, TypeError) as error:
                reason = str(error) if isinstance(error, SnapshotError) else type(error).__name__
        _log.warning("a snapshot is ignored and will be replaced: %s", reason)
        return None

    def save(
        self, user: str, model: str, revision: StoreRevision, metadata: Mapping[str, Any], sections: Sections
    ) -> bool:
        """Replace the snapshot of a user; False if items changed after `revision`, or on a disk error."""
        temporary: Path | None = None
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            path = self._path(user, model)
            prefix = f"{path.stem}{_TEMPORARY}"
            descriptor, name = tempfile.mkstemp(prefix=prefix, dir=self.folder)  # mode 600
            temporary = Path(name)
            with os.fdopen(descriptor, "wb") as file:
                digest = write_snapshot(file, metadata, sections)
                file.flush()
                os.fsync(file.fileno())
            # The lock of the store: no item is deleted between the check and the new row.
            with self._writing() as connection:
                key = user_key(connection, user)
                query = "SELECT revision FROM users WHERE key = ?"
                if connection.execute(query, (key,)).fetchone()[0] != revision.items:
                    return False
                temporary.replace(path)
                connection.execute(_PUT, (key, model, digest))
        except UnknownUserError:
            return False  # forgotten meanwhile
        except (OSError, StoreError) as error:
            reason = error.strerror if isinstance(error, OSError) else type(error).__name__
            _log.warning("a snapshot could not be written: %s", reason)
            return False
        finally:
            if temporary:
                temporary.unlink(missing_ok=True)
        return True

    def erase(self, connection: sqlite3.Connection, user: str) -> None:
        """Delete the snapshots of a user: rows in the transaction of `connection`, and files at once."""
        connection.execute("DELETE FROM snapshots WHERE user = (SELECT key FROM users WHERE id = ?)", (user,))
        try:
            for path in self._files(text_digest(user).hex()):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot delete the snapshots in {str(self.folder)!r}: {error.strerror}; delete the folder"
            ) from error
        with suppress(OSError):  # not empty, or missing
            self.folder.rmdir()

    def run(self, user: str, job: Callable[[], None]) -> bool:
        """Call `job` in a thread that closing the store waits for; False if one is running."""
        with self._lock:
            if self._thread and self._thread.is_alive():
                return False
            self._deferred.pop(user, None)
            # no daemon: a program that ends finishes the file first
            self._thread = Thread(target=job, name="contextune-snapshot")
            self._thread.start()
        return True

    def defer(self, user: str, job: Callable[[], None] | None) -> None:
        """Call `job` when the store is closed, in place of an earlier one of the user; None: call nothing."""
        with self._lock:
            self._deferred.pop(user, None)
            if job:
                self._deferred[user] = job

    def close(self) -> None:
        """Wait for a snapshot that is being written, and write those that were deferred."""
        self.wait()
        end = time.monotonic() + _MAX_CLOSING_S
        while self._deferred and time.monotonic() < end:
            _, job = self._deferred.popitem()
            job()
        self._deferred.clear()

    def wait(self) -> None:
        """Wait until a snapshot that is being written is complete."""
        with self._lock:
            thread = self._thread
        if thread:
            thread.join()

    def _path(self, user: str, model: str) -> Path:
        return snapshot_path(self.folder, user, model)

    def _files(self, prefix: str = "") -> Iterator[Path]:
        if self.folder.is_dir():
            yield from (path for path in self.folder.iterdir() if path.name.startswith(prefix))

    def _remove_abandoned(self) -> None:
        if not self.folder.is_dir():
            return
        query = "SELECT users.id, model FROM snapshots JOIN users ON users.key = snapshots.user"
        with self._reading() as connection:
            known = {self._path(*row).name for row in connection.execute(query)}
        with suppress(OSError):
            for path in self._files():
                if path.name not in known and path.stat().st_mtime < time.time() - _ABANDONED_S:
                    path.unlink(missing_ok=True)
