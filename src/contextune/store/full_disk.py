"""Deleting on a full disk: space held in reserve, and deletions in small steps."""

import os
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from contextune.errors import StoreError

RESERVE = 4 * 2**20
"""Bytes; a step of a deletion writes less to the log."""
_STEPS = {
    # Rows with uses are deleted last, so that no step has to delete all uses of an item.
    "uses": """DELETE FROM uses WHERE user = :user AND (item, moment, place) IN (
        SELECT item, moment, place FROM uses WHERE user = :user AND item = ifnull(:item, item) LIMIT 100)""",
    "item_vectors": """DELETE FROM item_vectors WHERE rowid IN (
        SELECT rowid FROM item_vectors WHERE user = :user AND item = ifnull(:item, item) LIMIT 50)""",
    "vectors": """DELETE FROM vectors WHERE rowid IN (
        SELECT rowid FROM vectors WHERE user = :user LIMIT 50)""",
    "feedback": "DELETE FROM feedback WHERE key IN (SELECT key FROM feedback WHERE user = :user LIMIT 50)",
    "tombstones": """DELETE FROM tombstones WHERE user = :user AND item IN (
        SELECT item FROM tombstones WHERE user = :user LIMIT 100)""",
    "items": """DELETE FROM items WHERE user = :user AND id IN (
        SELECT id FROM items WHERE user = :user LIMIT 5)""",
}
_PARTS_OF_ITEM = ("uses", "item_vectors")


class DiskReserve:
    """Space in a folder that an open, nameless file occupies; the system frees it if the process ends."""

    def __init__(self, folder: Path, size: int = RESERVE) -> None:
        self._folder = folder
        self._size = size
        self._file: IO[bytes] | None = None
        self.fill()

    def fill(self) -> None:
        """Occupy the space, if the disk has it."""
        if self._file is not None:
            return
        with suppress(OSError):
            file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115  # kept open
            try:
                _allocate(file, self._size)
            except OSError:
                file.close()
                raise
            self._file = file

    def release(self) -> None:
        """Give the space back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @contextmanager
    def released(self) -> Generator[None]:
        """Give the space back for the duration of a block."""
        self.release()
        try:
            yield
        finally:
            self.fill()


def _allocate(file: IO[bytes], size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:  # macOS and Windows
        file.write(bytes(size))


def is_full(error: StoreError) -> bool:
    """Whether the error was caused by a full disk, or by a full quota of the disk."""
    code = getattr(error.__cause__, "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_WRITE


def deletion_steps(item: str | None) -> list[str]:
    """Statements that each delete a few rows of `:user`; repeat each until it deletes none.

    They delete what belongs to an item (`:item`), or without one all that the user has stored.
    """
    return [step for table, step in _STEPS.items() if item is None or table in _PARTS_OF_ITEM]
