"""Storage of users, items, uses, vectors and feedback, in SQLite or PostgreSQL."""

from contextune.store.open_store import open_store
from contextune.store.protocol import ServiceStore, Store, StoreChanges, StoreRevision, Vector, text_digest
from contextune.store.quota import Quota
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
