"""A new store for each test: in SQLite, or of either kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextune.store import ServiceStore, SQLiteStore, open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(path, timeout=10) as store:
        yield store


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """Where a new store of either kind is to be."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("path"))
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def any_store(store_url: str) -> Iterator[ServiceStore]:
    """A new store of either kind."""
    with open_store(store_url) as store:
        yield store
