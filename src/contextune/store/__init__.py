"""Where a user's items, uses and vectors live."""

from contextune.store.base import Revision, Store, Vector, text_digest
from contextune.store.sqlite import SQLiteStore

__all__ = ["Revision", "SQLiteStore", "Store", "Vector", "text_digest"]
