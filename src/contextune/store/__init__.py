"""Where a user's items, uses and vectors live."""

from contextune.store.protocol import Store, StoreRevision, Vector, text_digest
from contextune.store.sqlite import SQLiteStore

__all__ = ["SQLiteStore", "Store", "StoreRevision", "Vector", "text_digest"]
