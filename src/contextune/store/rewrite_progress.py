"""Progress of `VACUUM`, which rewrites an SQLite file in two passes and reports nothing itself."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from contextune.types import Progress

_CALL_EVERY = 10_000
_STEPS_PER_ENTRY = 3
"""Steps of SQLite's virtual machine to copy a row or an entry of an index, about."""
_LOOK_EVERY = 0.1
"""Seconds between two looks at the size of the log."""


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
    before, stopped = _size(log), Event()

    def watch_log() -> None:
        while not stopped.wait(_LOOK_EVERY):
            if (written := _size(log) - before) > 0:
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


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
