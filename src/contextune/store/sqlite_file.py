"""A file of ours: made if it is new, opened if it is of the right kind, refused untouched if it is not.

The header is read through SQLite, never with `open()`: closing a file drops every lock that
the process holds on it, also those of other connections (sqlite.org/howtocorrupt.html, 2.2).
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from contextune.errors import StoreError
from contextune.store.schema import FileKind, migrate, version

_WHAT_TO_DO = {
    sqlite3.SQLITE_BUSY: "another process or thread keeps it locked; let that finish, or open it with "
    "a longer timeout",
    sqlite3.SQLITE_FULL: "the disk is full; free some space and do this again, nothing of it was written",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup, or load the data into a new file",
    sqlite3.SQLITE_NOTADB: "this is not a SQLite file; name another file",
    sqlite3.SQLITE_READONLY: "the file cannot be written; check the permissions of file and folder",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that it exists and its permissions",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written; check the disk and its free space",
}


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's kind of error, or 0 for one that comes from Python's module."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def explained(error: sqlite3.Error, path: Path, kind: FileKind) -> StoreError:
    """The error in words, with what to do."""
    advice = _WHAT_TO_DO.get(primary_code(error), "if it stays so, load the data into a new file")
    return StoreError(f"the {kind.noun} {str(path)!r}: {error}: {advice}")


def prepare(path: Path, kind: FileKind, timeout: float) -> None:
    """Make the file one of this kind and of the newest version, or refuse it and leave it as it is."""
    if path.name == ":memory:":
        raise StoreError(
            f"a {kind.noun} cannot live in memory, where every thread would see its own: name a file"
        )
    try:
        if not path.parent.is_dir():
            raise StoreError(f"the folder {str(path.parent)!r} is missing: make it first")
        if path.is_dir():
            raise StoreError(f"{str(path)!r} is a folder: name a file in it")
        new = _is_new(path)
        if not new:
            _check(path, kind, timeout)
        with closing(_open(path, "rwc", timeout)) as connection:
            connection.execute("PRAGMA page_size = 8192")  # for a new file: a page holds a few mails
            # The tables come before the write-ahead log, so that from the first byte on
            # the file itself, and not only its log, says whose it is.
            migrate(connection, kind)
            if new:
                path.chmod(0o600)  # before the log is there, which takes its permissions from the file
            _start_log(connection, path, timeout)
    except sqlite3.Error as error:
        raise explained(error, path, kind) from error
    except OSError as error:
        raise StoreError(f"the {kind.noun} {str(path)!r} cannot be looked at: {error.strerror}") from error


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """A connection to a prepared file. It may be closed by another thread than the one it serves."""
    connection = _open(path, "rw", timeout)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")  # with the log, a crash loses no committed change
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA cache_size = -32768")  # KiB; a bulk load in no order touches many pages
    connection.execute(
        "PRAGMA journal_size_limit = 16777216"
    )  # or the log stays as large as the largest load
    return connection


def _open(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    uri = f"{path.as_uri()}?mode={mode}"
    return sqlite3.connect(uri, timeout, isolation_level=None, check_same_thread=False, uri=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _is_new(path: Path) -> bool:
    log = _size(_log(path))  # asked first: where a log is seen, the file was filled before
    if _size(path):
        return False
    if log:
        raise StoreError(
            f"{str(path)!r} is empty or gone, and its log {str(_log(path))!r} is not: "
            "restore the file, or remove the log to begin anew"
        )
    return True


def _check(path: Path, kind: FileKind, timeout: float) -> None:
    # First the bare file, without locks or log: a file of somebody else must not even get a log beside it.
    try:
        with closing(_open(path, "ro&immutable=1", timeout)) as connection:
            _check_owner(connection, path, kind)
    except sqlite3.DatabaseError as error:
        # Looked at without a lock, a file that is being made or brought up to date can seem cut off.
        if primary_code(error) != sqlite3.SQLITE_CORRUPT:
            raise
    # Then the file with its log. A log that holds something is left as it is: it is part of the evidence.
    mode = "ro" if _size(_log(path)) else "rw"
    with closing(_open(path, mode, timeout)) as connection:
        connection.execute("BEGIN")
        _check_owner(connection, path, kind)
        _check_length(connection, path)


def _check_owner(connection: sqlite3.Connection, path: Path, kind: FileKind) -> None:
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if owner != kind.application_id:
        raise StoreError(
            f"{str(path)!r} is not a {kind.noun} of Contextune, but a SQLite file of another program or "
            f"kind, or cut off: name another file for the {kind.noun}"
        )
    found, known = version(connection), len(kind.steps)
    if found > known:
        raise StoreError(
            f"{str(path)!r} is a {kind.noun} of version {found}, made by a newer Contextune; this one knows "
            f"version {known}: pip install -U contextune"
        )


def _check_length(connection: sqlite3.Connection, path: Path) -> None:
    pages = int(connection.execute("PRAGMA page_count").fetchone()[0])
    page = int(connection.execute("PRAGMA page_size").fetchone()[0])
    log = _size(_log(path))  # before the file: what leaves the log is in the file by then
    size = _size(path)
    if size + log < pages * page:
        raise StoreError(
            f"{str(path)!r} is cut off: it has {size} bytes of {pages * page}; "
            "restore it from a backup, or load the data into a new file"
        )


def _start_log(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    for last_time in _attempts(timeout):
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                raise StoreError(f"{str(path)!r}: this disk cannot keep a write-ahead log; use a local disk")
            return
        except sqlite3.OperationalError as error:
            if last_time or primary_code(error) != sqlite3.SQLITE_BUSY:
                raise


def empty_log(connection: sqlite3.Connection, timeout: float) -> None:
    """Bring everything from the log into the file, and leave no byte of it in the log."""
    for _ in _attempts(timeout):
        if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
            return
    raise StoreError("another process or thread is still reading; let it finish")


def _attempts(timeout: float) -> Iterator[bool]:
    """Time after time until the timeout, each time whether it is the last.

    For the two things where SQLite does not wait: turning the log on, and emptying it while another does.
    """
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        yield False
        time.sleep(0.01)
    yield True
