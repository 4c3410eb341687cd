"""Storage in PostgreSQL, for services on several machines."""

from contextune.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
