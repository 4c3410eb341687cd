"""Copy a store while it is used, and put a copy in its place."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from contextune.errors import StoreError
from contextune.store import sqlite_file
from contextune.store.schema import STORE_SCHEMA
from contextune.store.snapshots.files import snapshot_folder
from contextune.store.verify import StoreCheck, require_sound, store_error
from contextune.types import Progress


def backup(
    store: Path,
    target: Path,
    *,
    overwrite: bool = False,
    timeout: float = 30.0,
    progress: Progress | None = None,
) -> StoreCheck:
    """Copy a store to the new file `target`, verify the copy, and return what it contains.

    The copy is one consistent state, even if other processes write meanwhile, and contains no deleted data.
    `progress` is called with the number of rows verified.
    """
    with _replacing(target.absolute(), overwrite) as copy:
        _copy(store.absolute(), copy, timeout)
        return require_sound(copy, timeout=timeout, progress=progress)


def restore(
    source: Path,
    store: Path,
    *,
    overwrite: bool = False,
    timeout: float = 30.0,
    progress: Progress | None = None,
) -> StoreCheck:
    """Verify a backup and copy it to the path of the store; return what it contains.

    With `overwrite` it replaces an existing store, which no process may be using.
    """
    check = require_sound(source, timeout=timeout, progress=progress)
    store = store.absolute()
    with _replacing(store, overwrite) as copy:
        _copy(source.absolute(), copy, timeout)
        if store.exists():
            _require_unused(store)
        for suffix in ("-wal", "-shm", "-journal"):  # they belong to the replaced file
            store.with_name(store.name + suffix).unlink(missing_ok=True)
        folder = snapshot_folder(store)
        if folder.is_dir():  # may have data of users who are not in the backup
            shutil.rmtree(folder)
    return check


@contextmanager
def _replacing(target: Path, overwrite: bool) -> Generator[Path]:
    """A new private file beside the target, which takes its place at the end of the block."""
    if target.is_dir():
        raise StoreError(f"{str(target)!r} is a folder: name a file")
    if target.exists() and not overwrite:
        raise StoreError(f"{str(target)!r} exists already: choose another file, or replace it with --force")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # mode 600
    except OSError as error:
        raise StoreError(f"cannot write to the folder {str(target.parent)!r}: {error.strerror}") from error
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(target)
        _sync(target.parent)
    except OSError as error:
        raise StoreError(f"cannot write {str(target)!r}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
        for suffix in ("-wal", "-shm", "-journal"):
            temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)


def _copy(source: Path, target: Path, timeout: float) -> None:
    with closing(sqlite_file.open_existing(source, STORE_SCHEMA, timeout)) as connection:
        try:
            connection.execute("VACUUM INTO ?", (str(target),))
        except sqlite3.Error as error:
            raise store_error(error, source) from error


def _require_unused(store: Path) -> None:
    """Raise `StoreError` if a process has the store open; write its log into the file otherwise."""
    with closing(sqlite_file.open_uri(store, "rw", 0)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            # anything else is damage, which a backup is restored for
            if sqlite_file.primary_code(error) == sqlite3.SQLITE_BUSY:
                raise StoreError(
                    f"{str(store)!r} is in use: stop the service and other programs that have it open"
                ) from error


def _sync(path: Path) -> None:
    """Write a file or folder to the disk."""
    with suppress(PermissionError):  # Windows cannot open a folder
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
