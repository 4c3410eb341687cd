"""Open the store of a file, or a temporary one."""

import atexit
from pathlib import Path
from tempfile import TemporaryDirectory

from contextune.store.protocol import Store
from contextune.store.sqlite import SQLiteStore


def open_store(path: str | Path | None) -> Store:
    """The store in a file; a temporary one, deleted at exit, without a path."""
    if path is not None:
        return SQLiteStore(Path(path).expanduser())
    folder = TemporaryDirectory(prefix="contextune-", ignore_cleanup_errors=True)
    store = SQLiteStore(Path(folder.name) / "store.db")
    atexit.register(folder.cleanup)
    atexit.register(store.close)
    return store
