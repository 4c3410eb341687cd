"""A new store for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextune.store import SQLiteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(path, timeout=10) as store:
        yield store
