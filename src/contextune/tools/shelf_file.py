"""The file a catalogue is kept in: made if it is new, opened if it is one, refused untouched if it is not."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from contextune.errors import StoreError
from contextune.store import file

APPLICATION_ID = 0x43545453
"""Written into the file's header ("CTTS"), so that no store and no other file is taken for a catalogue."""
VERSION = 1
_TABLES = (
    "CREATE TABLE sources (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    # `place` is the order tools came in, which a tool keeps when it changes
    """CREATE TABLE tools (
        place INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        app TEXT NOT NULL,
        source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
        body TEXT NOT NULL
    )""",
    "CREATE INDEX tools_of_source ON tools (source)",
    # as in a store, a vector is too long for a page of a table without rowid
    """CREATE TABLE vectors (
        digest BLOB NOT NULL,
        model TEXT NOT NULL,
        vector BLOB NOT NULL,
        UNIQUE (digest, model)
    )""",
)


def prepare(path: Path, timeout: float) -> None:
    """Make the file a catalogue, or refuse it and leave it as it is."""
    if path.name == ":memory:":
        raise StoreError("a shelf cannot live in memory, where every thread would see its own: name a file")
    if not path.parent.is_dir():
        raise StoreError(f"the folder {str(path.parent)!r} is missing: make it first")
    if path.is_dir():
        raise StoreError(f"{str(path)!r} is a folder: name a file in it")
    try:
        new = not path.exists() or not path.stat().st_size
        if not new:
            _check_before(path)
        with closing(sqlite3.connect(path, timeout, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if new and not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                for statement in _TABLES:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
            _check(connection, path)
            connection.execute("COMMIT")
            if new:
                path.chmod(0o600)  # tools may say more of somebody than they like to show
            _start_log(connection, timeout)
    except sqlite3.Error as error:
        raise file.explained(error, path) from error
    except OSError as error:
        raise StoreError(f"the shelf {str(path)!r} cannot be opened: {error.strerror}") from error


def _check_before(path: Path) -> None:
    """Without a lock or a log: a file of somebody else is not to be touched at all."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            _check(connection, path)
    except sqlite3.DatabaseError as error:
        if file.primary_code(error) != sqlite3.SQLITE_CORRUPT:  # so a file looks that is just being made
            raise


def _check(connection: sqlite3.Connection, path: Path) -> None:
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if owner != APPLICATION_ID:
        raise StoreError(f"{str(path)!r} is not a catalogue of Contextune: name another file for it")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StoreError(
            f"{str(path)!r} is a catalogue of version {version}, made by a newer Contextune; this one knows "
            f"version {VERSION}: pip install -U contextune"
        )


def _start_log(connection: sqlite3.Connection, timeout: float) -> None:
    end = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # for this, SQLite does not wait by itself
            if file.primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(0.01)
