"""What changes in a folder, by looking again: that works on every disk, also on those of other machines."""

import os
from pathlib import Path
from typing import NamedTuple


class _FileStamp(NamedTuple):
    """What tells one state of a file from another."""

    size: int
    written: int
    node: int


class FolderWatcher:
    """Looks at the files of a folder, and tells which are new or changed since they were last told."""

    def __init__(self, folder: Path, *, apart: Path | None = None) -> None:
        """`apart` is a file that changes by being told of it: the store, if it lies in the folder."""
        self._folder = folder.resolve()
        self._apart = str(apart.resolve()) if apart else None
        self._told: dict[Path, _FileStamp] = {}
        self._before: dict[Path, _FileStamp] | None = None

    def settled(self) -> frozenset[Path]:
        """The files to read now.

        One that differs from the last look is still being written, and waits for the next; at the first
        look there is nothing to compare with, and all are told.
        """
        now = dict(self._look())
        before = now if self._before is None else self._before
        self._before = now
        ready = {
            path: mark
            for path, mark in now.items()
            if before.get(path) == mark and self._told.get(path) != mark
        }
        self._told = {path: mark for path, mark in self._told.items() if path in now} | ready
        return frozenset(ready)

    def _look(self) -> list[tuple[Path, _FileStamp]]:
        found: list[tuple[Path, _FileStamp]] = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = Path(folder, name)
                if self._apart and str(path).startswith(self._apart):  # with the log beside it
                    continue
                try:
                    status = path.stat()
                except OSError:  # gone since, or a link to nowhere
                    continue
                found.append((path, _FileStamp(status.st_size, status.st_mtime_ns, status.st_ino)))
        return found
