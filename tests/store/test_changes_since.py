"""`changes` returns what was written and deleted since a revision, in one indexed query."""

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from contextune.store import SQLiteStore, StoreChanges, StoreRevision, statements, text_digest
from contextune.types import Item, UsageEvent, User

TIME = datetime(2024, 5, 16, 19, 0)


def note(name: str, title: str = "") -> Item:
    return Item(name, "Notes", {"title": title})


def known_changes(store: SQLiteStore, since: StoreRevision, user: str = "ana") -> StoreChanges:
    result = store.changes(user, since)
    assert result is not None
    return result


@pytest.fixture
def ana(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ana"))
    store.put_items("ana", [note("1", "one"), note("2", "two"), note("3")])
    store.put_uses("ana", [UsageEvent("1", TIME), UsageEvent("2", TIME, "home")])
    return store


def test_nothing_changed_since_the_current_revision(ana: SQLiteStore) -> None:
    revision = ana.revision("ana")
    assert ana.changes("ana", revision) == StoreChanges(revision, None, [], frozenset(), [])


def test_changes_contain_new_and_replaced_items_and_new_uses(ana: SQLiteStore) -> None:
    since = ana.revision("ana")
    ana.put_items("ana", [note("1", "one"), note("2", "zwei"), note("4")])
    ana.put_uses("ana", [UsageEvent("1", TIME), UsageEvent("4", TIME, "gym")])
    result = known_changes(ana, since)
    assert result.items == [note("2", "zwei"), note("4")]
    assert result.uses == [UsageEvent("4", TIME, "gym")]
    assert (result.user, result.deleted) == (None, frozenset())
    assert result.revision == ana.revision("ana")
    assert known_changes(ana, result.revision).items == []


def test_deleted_items_are_reported_by_digest(ana: SQLiteStore, path: Path) -> None:
    since = ana.revision("ana")
    ana.delete_items("ana", ["2", "none"])
    assert known_changes(ana, since).deleted == {text_digest("2")}
    ana.put_items("ana", [note("2", "again")])
    ana.put_uses("ana", [UsageEvent("2", TIME + timedelta(hours=1))])
    result = known_changes(ana, since)
    assert result.deleted == {text_digest("2")}
    assert result.items == [note("2", "again")]
    assert result.uses == [UsageEvent("2", TIME + timedelta(hours=1))]


def test_id_of_a_deleted_item_is_not_kept(ana: SQLiteStore, path: Path) -> None:
    ana.put_items("ana", [note("Zaunkönig")])
    ana.delete_items("ana", ["Zaunkönig"])
    ana.close()
    assert "Zaunkönig".encode() not in path.read_bytes()


def test_changed_user_is_reported(ana: SQLiteStore) -> None:
    since = ana.revision("ana")
    ana.put_user(User("ana", {"name": "Ana"}))
    assert known_changes(ana, since).user == User("ana", {"name": "Ana"})


def test_changes_of_other_users_are_not_reported(ana: SQLiteStore) -> None:
    ana.put_user(User("rui"))
    since = ana.revision("ana")
    ana.put_items("rui", [note("5")])
    ana.delete_items("rui", ["5"])
    assert known_changes(ana, since) == StoreChanges(since, None, [], frozenset(), [])


def test_changes_before_a_forgotten_user_returned_are_unknown(ana: SQLiteStore) -> None:
    since = ana.revision("ana")
    ana.forget("ana")
    ana.put_user(User("ana"))
    assert ana.changes("ana", since) is None
    assert ana.changes("ana", ana.revision("ana")) is not None


def test_forget_erases_tombstones(ana: SQLiteStore, path: Path) -> None:
    ana.delete_items("ana", ["2"])
    ana.forget("ana")
    ana.close()
    assert text_digest("2") not in path.read_bytes()


def test_old_tombstones_are_dropped(ana: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "MAX_TOMBSTONES", 2)
    before = ana.revision("ana")
    ana.delete_items("ana", ["1"])
    ana.delete_items("ana", ["2"])
    between = ana.revision("ana")
    assert known_changes(ana, before).deleted == {text_digest("1"), text_digest("2")}
    ana.put_items("ana", [note("4")])
    ana.delete_items("ana", ["3"])
    ana.delete_items("ana", ["4"])
    assert ana.changes("ana", before) is None
    assert known_changes(ana, between).deleted == {text_digest("3"), text_digest("4")}


def test_a_later_revision_than_the_store_has_is_unknown(ana: SQLiteStore) -> None:
    assert ana.changes("ana", StoreRevision(10**6, 0)) is None


def test_each_part_of_the_query_uses_an_index(ana: SQLiteStore, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        plan = connection.execute(
            f"EXPLAIN QUERY PLAN {statements.CHANGES}", {"user": 1, "since": 3}
        ).fetchall()
    searches = [row[3] for row in plan if "SEARCH" in row[3] or "SCAN" in row[3]]
    assert len(searches) == 3
    assert all("_by_revision (user=? AND revision>?)" in search for search in searches), searches
