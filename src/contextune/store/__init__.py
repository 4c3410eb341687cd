"""Storage of users, items, uses, vectors and feedback, in SQLite or PostgreSQL."""

import atexit
from pathlib import Path
from tempfile import TemporaryDirectory

from contextune._internal.postgres_url import is_postgres
from contextune.store.protocol import ServiceStore, Store, StoreChanges, StoreRevision, Vector, text_digest
from contextune.store.quota import NO_QUOTA, Quota
from contextune.store.sqlite import SQLiteStore

__all__ = [
    "Quota",
    "SQLiteStore",
    "ServiceStore",
    "Store",
    "StoreChanges",
    "StoreRevision",
    "Vector",
    "open_store",
    "text_digest",
]


def open_store(store: str | Path | None, *, quota: Quota = NO_QUOTA) -> ServiceStore:
    """The store in a file, or in the database of a `postgresql://` URL; without a name a temporary one."""
    if is_postgres(store):
        from contextune.store.postgres import PostgresStore

        return PostgresStore(str(store), quota=quota)
    if store is not None:
        return SQLiteStore(Path(store).expanduser(), quota=quota)
    folder = TemporaryDirectory(prefix="contextune-", ignore_cleanup_errors=True)
    temporary = SQLiteStore(Path(folder.name) / "store.db", quota=quota)
    atexit.register(folder.cleanup)
    atexit.register(temporary.close)
    return temporary
