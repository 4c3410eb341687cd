"""Storage in PostgreSQL, for services on several machines."""

from contextune.errors import MissingExtraError

try:
    import psycopg_pool  # noqa: F401  # pyright: ignore[reportUnusedImport]  # before modules that need it
except ImportError as error:
    raise MissingExtraError("a store in PostgreSQL", "postgres") from error

from contextune.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
