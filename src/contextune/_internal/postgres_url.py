"""Tell the URL of a PostgreSQL database from the path of a file, without importing a library."""

from pathlib import Path

_SCHEMES = ("postgresql://", "postgres://")


def is_postgres(store: str | Path | None) -> bool:
    """Whether a store is named by the URL of a PostgreSQL database, or by its key=value form."""
    return isinstance(store, str) and (store.startswith(_SCHEMES) or "dbname=" in store)
