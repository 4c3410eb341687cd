"""A store of any earlier version goes through the numbered steps; a step happens whole or not at all."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from contextune.errors import StoreError
from contextune.store import SQLiteStore, StoreRevision, sqlite
from contextune.store.schema import STORE, FileKind, migrate, version
from contextune.types import Contact, Item, UsageEvent, User

VERSION_1 = Path(__file__).with_name("version_1.sql")
"""A store as version 1 wrote it, dumped. It is kept as it is, whatever the steps become."""

EXTRA = ("ALTER TABLE items ADD COLUMN colour TEXT", "UPDATE items SET colour = 'blue'")


@pytest.fixture
def old(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1.read_text("utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")
    return path


def with_steps(*more: tuple[str, ...]) -> FileKind:
    return replace(STORE, steps=(*STORE.steps, *more))


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


def test_a_store_of_version_1_is_read(old: Path) -> None:
    assert contents(old) == EXPECTED


def test_a_new_store_has_the_tables_of_version_1(old: Path, tmp_path: Path) -> None:
    def tables(path: Path) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(path)) as connection:
            found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name")
            return [(name, " ".join(sql.split())) for name, sql in found]

    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as connection:
        migrate(connection, replace(STORE, steps=STORE.steps[:1]))
    assert tables(tmp_path / "new.db") == tables(old)


def test_a_store_of_version_1_goes_through_the_steps(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "STORE", with_steps(EXTRA))
        assert contents(old) == EXPECTED
        assert contents(old) == EXPECTED
        with closing(sqlite3.connect(old)) as connection:
            assert version(connection) == len(STORE.steps) + 1
            assert connection.execute("SELECT DISTINCT colour FROM items").fetchall() == [("blue",)]
    with pytest.raises(StoreError, match="newer Contextune"):
        SQLiteStore(old)


def test_a_step_that_fails_leaves_the_store_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ("ALTER TABLE items ADD COLUMN colour TEXT", "UPDATE nowhere SET colour = 'blue'")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "STORE", with_steps(broken))
        with pytest.raises(StoreError, match="no such table"):
            SQLiteStore(old)
    assert contents(old) == EXPECTED


def test_steps_before_a_failing_one_stay_done(old: Path) -> None:
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, with_steps(EXTRA, ("SELECT nonsense",)))
        assert version(connection) == len(STORE.steps) + 1
        migrate(connection, with_steps(EXTRA, ("CREATE TABLE more (a)",)))
        assert version(connection) == len(STORE.steps) + 2
