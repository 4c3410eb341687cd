"""Detect new and changed files of a folder by polling, which also works on network drives."""

import os
from pathlib import Path
from typing import NamedTuple


class _FileStamp(NamedTuple):
    """Identifies one version of a file."""

    size: int
    modified_ns: int
    inode: int


class FolderWatcher:
    """Polls a folder for files that are new or have changed."""

    def __init__(self, folder: Path, *, exclude: Path | None = None) -> None:
        """`exclude` is a file to ignore: the store, if it lies in the folder."""
        self._folder = folder.resolve()
        self._exclude = str(exclude.resolve()) if exclude else None
        self._reported: dict[Path, _FileStamp] = {}
        self._previous: dict[Path, _FileStamp] | None = None

    def changed_files(self) -> frozenset[Path]:
        """The files that changed since the last call and are complete.

        A file that differs from the previous poll may still be written to, and is left for the next poll. The
        first poll returns all files.
        """
        current = dict(self._scan())
        previous = current if self._previous is None else self._previous
        self._previous = current
        ready = {
            path: stamp
            for path, stamp in current.items()
            if previous.get(path) == stamp and self._reported.get(path) != stamp
        }
        self._reported = {path: stamp for path, stamp in self._reported.items() if path in current} | ready
        return frozenset(ready)

    def _scan(self) -> list[tuple[Path, _FileStamp]]:
        stamps: list[tuple[Path, _FileStamp]] = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = Path(folder, name)
                if self._exclude and str(path).startswith(self._exclude):  # and its journal
                    continue
                try:
                    status = path.stat()
                except OSError:  # deleted meanwhile, or a broken link
                    continue
                stamps.append((path, _FileStamp(status.st_size, status.st_mtime_ns, status.st_ino)))
        return stamps
