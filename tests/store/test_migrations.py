"""Stores of earlier versions are migrated; each migration is one transaction."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from contextune.errors import StoreError
from contextune.store import SQLiteStore, StoreRevision, sqlite
from contextune.store.rows import row_checksum
from contextune.store.schema import STORE_SCHEMA, DatabaseSchema, migrate, schema_version
from contextune.types import Contact, Item, UsageEvent, User

VERSION_1 = Path(__file__).with_name("version_1.sql")
"""Dump of a store written by version 1. Never change it."""

EXTRA = ("ALTER TABLE items ADD COLUMN colour TEXT", "UPDATE items SET colour = 'blue'")


@pytest.fixture
def version_1(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1.read_text("utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")
    return path


def with_migrations(*more: tuple[str, ...]) -> DatabaseSchema:
    return replace(STORE_SCHEMA, migrations=(*STORE_SCHEMA.migrations, *more))


def contents(path: Path) -> tuple[object, ...]:
    with SQLiteStore(path) as store:
        return (
            store.users(),
            store.user("ana"),
            store.items("ana"),
            store.uses("ana"),
            store.vectors("ana", "m", [b"digest"])[b"digest"].tolist(),
            store.revision("ana"),
        )


EXPECTED = (
    ["ana", "rui"],
    User(
        "ana",
        {"name": "Ana Simões"},
        {"home": (41.15, -8.63)},
        (Contact("Rui", email="rui@example.org", more={"since": 2009}),),
        ZoneInfo("Europe/Lisbon"),
    ),
    [Item("1", "Notes", {"title": "chá", "tags": ["a", "b"]}), Item("2", "Mail", {"subject": "Olá"})],
    [
        UsageEvent("1", datetime(2024, 5, 16, 19, 0)),
        UsageEvent("1", datetime.fromisoformat("2024-05-16T20:00+01:00"), "home"),
    ],
    [0.5, -1.0],
    StoreRevision(items=3, uses=4),
)


def test_version_1_is_read(version_1: Path) -> None:
    assert contents(version_1) == EXPECTED


def test_first_migration_creates_the_tables_of_version_1(version_1: Path, tmp_path: Path) -> None:
    def tables(path: Path) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name")
            return [(name, " ".join(sql.split())) for name, sql in rows]

    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as connection:
        migrate(connection, replace(STORE_SCHEMA, migrations=STORE_SCHEMA.migrations[:1]))
    assert tables(tmp_path / "new.db") == tables(version_1)


def test_version_1_is_migrated(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "STORE_SCHEMA", with_migrations(EXTRA))
        assert contents(version_1) == EXPECTED
        assert contents(version_1) == EXPECTED
        with closing(sqlite3.connect(version_1)) as connection:
            assert schema_version(connection) == len(STORE_SCHEMA.migrations) + 1
            assert connection.execute("SELECT DISTINCT colour FROM items").fetchall() == [("blue",)]
    with pytest.raises(StoreError, match="newer Contextune"):
        SQLiteStore(version_1)


def test_failed_migration_changes_nothing(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ("ALTER TABLE items ADD COLUMN colour TEXT", "UPDATE nowhere SET colour = 'blue'")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "STORE_SCHEMA", with_migrations(broken))
        with pytest.raises(StoreError, match="no such table"):
            SQLiteStore(version_1)
    assert contents(version_1) == EXPECTED


def test_migrations_before_a_failed_one_stay(version_1: Path) -> None:
    with closing(sqlite3.connect(version_1, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, with_migrations(EXTRA, ("SELECT nonsense",)))
        assert schema_version(connection) == len(STORE_SCHEMA.migrations) + 1
        migrate(connection, with_migrations(EXTRA, ("CREATE TABLE more (a)",)))
        assert schema_version(connection) == len(STORE_SCHEMA.migrations) + 2


def test_vectors_of_items_survive_the_new_name_of_their_table(path: Path) -> None:
    version_6 = replace(STORE_SCHEMA, migrations=STORE_SCHEMA.migrations[:6])
    vector = np.array([0.5, -1.0], np.float32).tobytes()
    row = (1, "1", b"digest", "m", vector)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        migrate(connection, version_6)
        user, item = ("ana", "{}", "{}", "[]", None), (1, "1", "Notes", "{}")
        users = "INSERT INTO users (id, profile, places, contacts, zone, checksum) VALUES (?, ?, ?, ?, ?, ?)"
        connection.execute(users, (*user, row_checksum(*user)))
        items = "INSERT INTO items (user, id, app, fields, checksum) VALUES (?, ?, ?, ?, ?)"
        connection.execute(items, (*item, row_checksum(*item)))
        portraits = (
            "INSERT INTO portraits (user, item, digest, model, vector, checksum) VALUES (?, ?, ?, ?, ?, ?)"
        )
        connection.execute(portraits, (*row, row_checksum(*row)))
    with SQLiteStore(path) as store:
        digest, stored = store.enriched_vectors("ana", "m")["1"]
        assert (digest, stored.tolist()) == (b"digest", [0.5, -1.0])
        store.delete_items("ana", ["1"])
        assert store.enriched_vectors("ana", "m") == {}
    with closing(sqlite3.connect(path)) as connection:
        schema = connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()
    assert "portraits" not in str(schema)


def test_version_1_gets_sizes_and_checksums(version_1: Path) -> None:
    with SQLiteStore(version_1) as store:
        sizes = store.sizes("ana")
        assert (sizes.items, sizes.uses) == (2, 2)
        assert sizes.item_bytes == len(
            '1Notes{"title":"chá","tags":["a","b"]}2Mail{"subject":"Olá"}'.encode()
        )
        store.delete_items("ana", ["1", "2"])
        assert store.sizes("ana").total_bytes == 0
