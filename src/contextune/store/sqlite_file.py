"""Create, check, open and rewrite SQLite files; files of another kind are refused unchanged.

The header is read through SQLite, never with `open()`: closing a file drops every lock that the process holds
on it, also those of other connections (sqlite.org/howtocorrupt.html, 2.2).
"""

import os
import sqlite3
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from contextune.errors import DamagedStoreError, StoreError
from contextune.store.rows import DamagedRowError
from contextune.store.schema import DatabaseSchema, migrate, schema_version
from contextune.store.wal_check import PAGE_SIZE, lost_commits
from contextune.types import Progress

_ADVICE = {
    sqlite3.SQLITE_BUSY: "another process or thread holds the lock; wait for it, or open the file with "
    "a longer timeout",
    sqlite3.SQLITE_FULL: "the disk is full; free some space and retry, nothing was written",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup (contextune store restore), "
    "or load the data into a new file",
    sqlite3.SQLITE_NOTADB: "this is not a SQLite file; choose another file",
    sqlite3.SQLITE_READONLY: "the file cannot be written; check the permissions of file and folder",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that it exists and is readable",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written; check the disk and its free space",
}
_DAMAGED_SCHEMA = ("no such table", "no such column", "near ", "malformed database schema")
"""How messages begin about a schema that is not the store's own; all statements are fixed."""
_CALL_EVERY = 10_000
_STEPS_PER_ENTRY = 3
"""Steps of SQLite's virtual machine to copy a row or an entry of an index, about."""
_LOOK_EVERY = 0.1
"""Seconds between two looks at the size of the log."""


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code, or 0 for an error of Python's module."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def reason(error: sqlite3.Error) -> str:
    """SQLite's message, without stored text."""
    # Python's module quotes text that it cannot decode
    return "text that is not UTF-8" if _is_undecodable(error) else str(error)


def _is_undecodable(error: sqlite3.Error) -> bool:
    return not primary_code(error) and str(error).startswith("Could not decode")


def describe_error(error: sqlite3.Error, path: Path, schema: DatabaseSchema) -> StoreError:
    """A `StoreError` that says what to do; `DamagedStoreError` if the file is damaged."""
    damaged = _is_undecodable(error) or str(error).startswith(_DAMAGED_SCHEMA)
    code = sqlite3.SQLITE_CORRUPT if damaged else primary_code(error)
    advice = _ADVICE.get(code, "if this persists, load the data into a new file")
    kind = DamagedStoreError if code == sqlite3.SQLITE_CORRUPT else StoreError
    return kind(f"the {schema.noun} {str(path)!r}: {reason(error)}: {advice}")


class _Connection(sqlite3.Connection):
    """A connection that reports damage in the schema as an error of SQLite."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement."""
        try:
            return super().execute(sql, parameters)
        except UnicodeDecodeError as error:  # a message that quotes a damaged name
            raise DamagedRowError("the schema is not UTF-8") from error


def prepare(path: Path, schema: DatabaseSchema, timeout: float) -> None:
    """Create the file, or migrate it to the newest version; refuse any other file and leave it as it is."""
    if path.name == ":memory:":
        raise StoreError(
            f"a {schema.noun} cannot be in memory, where every thread would have its own: name a file"
        )
    try:
        if not path.parent.is_dir():
            raise StoreError(f"no such folder: {str(path.parent)!r}; create it first")
        if path.is_dir():
            raise StoreError(f"{str(path)!r} is a folder: name a file")
        if _is_new(path):
            _create_private(path)
        else:
            _check(path, schema, timeout)
        with closing(open_uri(path, "rwc", timeout)) as connection:
            connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")  # for a new file: a page holds a few mails
            # Tables before the write-ahead log, so that the file itself, and not only its log, contains
            # the application id from the start.
            migrate(connection, schema)
            _start_log(connection, path, timeout)
    except sqlite3.Error as error:
        raise describe_error(error, path, schema) from error
    except OSError as error:
        raise StoreError(f"cannot access the {schema.noun} {str(path)!r}: {error.strerror}") from error


def _create_private(path: Path) -> None:
    """Create an empty file that only its owner can read, before SQLite writes to it.

    The file is created under another name and linked: closing it under its own name would drop the locks of a
    thread that has opened it meanwhile. Its journal and log inherit the permissions.
    """
    if path.exists():
        path.chmod(0o600)
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 600
    os.close(descriptor)
    try:
        os.link(name, path)
    except FileExistsError:
        return  # another thread or process was faster
    except OSError:  # no hard links on this disk
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    finally:
        Path(name).unlink()


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Connect to a prepared file. Another thread may close the connection."""
    connection = open_uri(path, "rw", timeout)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # a committed change survives a loss of power
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA cache_size = -32768")  # KiB; an unordered bulk load touches many pages
    # without a limit, the log stays as large as the largest load
    connection.execute("PRAGMA journal_size_limit = 16777216")
    return connection


def open_existing(path: Path, schema: DatabaseSchema, timeout: float) -> sqlite3.Connection:
    """Connect to a file of this kind without creating or migrating it; raise `StoreError` for any other."""
    if not path.is_file():
        raise StoreError(f"no such {schema.noun}: {str(path)!r}")
    try:
        if _is_new(path):
            raise StoreError(f"{str(path)!r} is empty: it is not a {schema.noun}")
        _check(path, schema, timeout)
        return open_uri(path, _reading_mode(path), timeout)
    except sqlite3.Error as error:
        raise describe_error(error, path, schema) from error


def open_uri(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    """Connect to a file with a mode of SQLite: ro, rw, rwc."""
    uri = f"{path.as_uri()}?mode={mode}"
    return sqlite3.connect(
        uri, timeout, isolation_level=None, check_same_thread=False, factory=_Connection, uri=True
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _is_new(path: Path) -> bool:
    log = _size(_log(path))  # read first: if there is a log, the file was filled before
    if _size(path):
        return False
    if log:
        raise StoreError(
            f"{str(path)!r} is empty or missing, but its log {str(_log(path))!r} is not: "
            "restore the file, or remove the log to start over"
        )
    return True


def _check(path: Path, schema: DatabaseSchema, timeout: float) -> None:
    # First the file alone, without locks: no log may be created beside a file of another program.
    try:
        with closing(open_uri(path, "ro&immutable=1", timeout)) as connection:
            _check_owner(connection, path, schema)
    except sqlite3.DatabaseError as error:
        # Without a lock, a file that is being created or migrated can look truncated.
        if primary_code(error) != sqlite3.SQLITE_CORRUPT:
            raise
    # Then the file with its log.
    if lost := lost_commits(_log(path)):
        raise DamagedStoreError(
            f"the log {str(_log(path))!r} is damaged: transactions after the damage: {lost}; restore the "
            f"{schema.noun} from a backup (contextune store restore), or delete the log to continue without "
            "the changes in it"
        )
    with closing(open_uri(path, _reading_mode(path), timeout)) as connection:
        connection.execute("BEGIN")
        _check_owner(connection, path, schema)
        _check_length(connection, path)


def _reading_mode(path: Path) -> str:
    """A log with content is not touched: the file may have to be recovered."""
    return "ro" if _size(_log(path)) else "rw"


def _check_owner(connection: sqlite3.Connection, path: Path, schema: DatabaseSchema) -> None:
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if owner != schema.application_id:
        raise StoreError(
            f"{str(path)!r} is not a Contextune {schema.noun}, but truncated or a SQLite file of another "
            f"program or kind: choose another file for the {schema.noun}"
        )
    actual, supported = schema_version(connection), len(schema.migrations)
    if actual > supported:
        raise StoreError(
            f"{str(path)!r} is a {schema.noun} of version {actual}, written by a newer Contextune; this one "
            f"supports version {supported}: pip install -U contextune"
        )


def _check_length(connection: sqlite3.Connection, path: Path) -> None:
    pages = int(connection.execute("PRAGMA page_count").fetchone()[0])
    page = int(connection.execute("PRAGMA page_size").fetchone()[0])
    log = _size(_log(path))  # before the file: content that leaves the log is in the file by then
    size = _size(path)
    if size + log < pages * page:
        raise DamagedStoreError(
            f"{str(path)!r} is truncated: it has {size} bytes of {pages * page}; "
            "restore it from a backup, or load the data into a new file"
        )


def _start_log(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    for is_last in _attempts(timeout):
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                raise StoreError(f"{str(path)!r}: this disk cannot hold a write-ahead log; use a local disk")
            return
        except sqlite3.OperationalError as error:
            if is_last or primary_code(error) != sqlite3.SQLITE_BUSY:
                raise


def truncate_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Checkpoint the write-ahead log into the file and truncate it to zero bytes."""
    for _ in _attempts(timeout):
        if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
            return
    raise StoreError("another process or thread is still reading; wait for it")


def _attempts(timeout: float) -> Iterator[bool]:
    """Yield until the timeout, each time whether this is the last attempt.

    For two operations where SQLite does not wait for locks: turning the log on, and truncating it.
    """
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        yield False
        time.sleep(0.01)
    yield True


@contextmanager
def rewrite_progress(
    connection: sqlite3.Connection, path: Path, progress: Progress | None
) -> Generator[None]:
    """Report the progress of a `VACUUM` in the block, in bytes.

    Rows are copied to a temporary file, which SQLite's steps tell, and then back to the log beside the store,
    whose size a thread looks at. `progress` is called from either.
    """
    if progress is None:
        yield
        return
    size = _used_bytes(connection)
    steps = max(_CALL_EVERY, _STEPS_PER_ENTRY * _entries(connection))
    calls = 0

    def on_steps() -> int:
        nonlocal calls
        calls += 1
        progress(min(size, size * calls * _CALL_EVERY // steps), 2 * size)
        return 0

    log = path.with_name(f"{path.name}-wal")
    before, stopped = _file_size(log), Event()

    def watch_log() -> None:
        while not stopped.wait(_LOOK_EVERY):
            if (written := _file_size(log) - before) > 0:
                progress(size + min(size, written), 2 * size)

    watcher = Thread(target=watch_log, name="contextune-rewrite", daemon=True)
    connection.set_progress_handler(on_steps, _CALL_EVERY)
    watcher.start()
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)
        stopped.set()
        watcher.join()
    progress(2 * size, 2 * size)


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return max(1, pages - free) * size


def _entries(connection: sqlite3.Connection) -> int:
    """Rows of all tables, each as often as its table has indexes and once more."""
    tables = connection.execute(
        "SELECT tables.name, (SELECT count(*) FROM pragma_index_list(tables.name))"
        " FROM sqlite_master AS tables WHERE type = 'table'"
    ).fetchall()
    return sum(
        (1 + indexes) * connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608
        for name, indexes in tables
    )


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
