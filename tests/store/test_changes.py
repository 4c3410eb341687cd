"""Adding, replacing and deleting; transactions; the revision."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from contextune.errors import InvalidDataError, StoreError
from contextune.store import SQLiteStore
from contextune.types import Item, UsageEvent, User

TIME = datetime(2024, 5, 16, 19, 0)


def note(name: str, title: str = "") -> Item:
    return Item(name, "Notes", {"title": title})


def notes_then_error(*names: str) -> Iterator[Item]:
    for name in names:
        yield note(name)
    raise OSError("the source failed")


@pytest.fixture
def ana(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ana"))
    store.put_items("ana", [note("1", "one"), note("2", "two")])
    store.put_uses("ana", [UsageEvent("1", TIME), UsageEvent("2", TIME)])
    return store


def test_replaced_item_keeps_its_uses(ana: SQLiteStore) -> None:
    assert ana.put_items("ana", [note("2", "zwei"), note("3", "drei")]) == 2
    assert ana.items("ana") == [note("1", "one"), note("2", "zwei"), note("3", "drei")]
    assert len(ana.uses("ana")) == 2


def test_replaced_user_keeps_items_and_uses(ana: SQLiteStore) -> None:
    ana.put_user(User("ana", {"name": "Ana"}))
    assert len(ana.items("ana")) == 2
    assert len(ana.uses("ana")) == 2


def test_deleted_item_loses_its_uses(ana: SQLiteStore) -> None:
    assert ana.delete_items("ana", ["2", "none", "2"]) == 1
    assert ana.items("ana") == [note("1", "one")]
    assert ana.uses("ana") == [UsageEvent("1", TIME)]
    ana.put_items("ana", [note("2")])
    assert ana.uses("ana", item="2") == []


def test_deleted_text_is_not_left_in_the_file(store: SQLiteStore, path: Path) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", [note("1", "Zaunkönig"), note("2", "stays")])
    store.close()
    assert "Zaunkönig".encode() in path.read_bytes()
    with SQLiteStore(path) as again:
        again.delete_items("ana", ["1"])
    assert "Zaunkönig".encode() not in path.read_bytes()


def test_failing_iterable_writes_nothing(ana: SQLiteStore) -> None:
    revision = ana.revision("ana")
    with pytest.raises(OSError, match="failed"):
        ana.put_items("ana", notes_then_error("1", "8", "9"))
    with pytest.raises(OSError, match="failed"):
        ana.delete_items("ana", (item.id for item in notes_then_error("1", "2")))
    with pytest.raises(OSError, match="failed"):
        ana.put_uses("ana", (UsageEvent(item.id, TIME, "home") for item in notes_then_error("1", "2")))
    assert ana.items("ana") == [note("1", "one"), note("2", "two")]
    assert len(ana.uses("ana")) == 2
    assert ana.revision("ana") == revision
    ana.put_items("ana", [note("3")])  # the store still works


def test_invalid_vector_writes_nothing(ana: SQLiteStore) -> None:
    good = np.ones(3, dtype=np.float32)
    with pytest.raises(Exception, match="shape"):
        ana.put_vectors("ana", "m", {b"a": good, b"b": np.ones((2, 2), dtype=np.float32)})
    assert ana.vectors("ana", "m", [b"a", b"b"]) == {}


def test_iterable_can_read_the_store_but_not_write_to_it(ana: SQLiteStore) -> None:
    def copies() -> Iterator[Item]:
        for item in ana.items("ana", ["1", "2"]):
            yield Item(f"copy {item.id}", item.app, item.fields)

    assert ana.put_items("ana", copies()) == 2

    def writes() -> Iterator[Item]:
        yield note("5")
        ana.put_items("ana", [note("6")])

    with pytest.raises(StoreError, match="make it a list"):
        ana.put_items("ana", writes())
    assert ana.items("ana", ["5", "6"]) == []


def test_revision_grows_with_every_change(ana: SQLiteStore) -> None:
    revisions = [ana.revision("ana")]
    for change in (
        lambda: ana.put_user(User("ana", {"name": "Ana"})),
        lambda: ana.put_items("ana", [note("3")]),
        lambda: ana.put_items("ana", [note("3", "three")]),
        lambda: ana.put_uses("ana", [UsageEvent("3", TIME)]),
        lambda: ana.delete_items("ana", ["3"]),
    ):
        change()
        revisions.append(ana.revision("ana"))
    assert revisions == sorted(set(revisions))
    assert [revision.items for revision in revisions][3] == [revision.items for revision in revisions][
        4
    ]  # uses have their own


def test_revision_stays_if_nothing_changes(ana: SQLiteStore) -> None:
    ana.put_user(User("rui"))
    revision = ana.revision("ana")
    ana.put_items("rui", [note("1")])
    ana.put_items("ana", [])
    ana.put_items("ana", [note("1", "one")])
    ana.put_uses("ana", [UsageEvent("1", TIME)])
    ana.delete_items("ana", ["none"])
    ana.put_vectors("ana", "m", {b"d": np.ones(3, dtype=np.float32)})
    assert ana.revision("ana") == revision


def test_revision_is_the_same_for_all_connections(ana: SQLiteStore, path: Path) -> None:
    with SQLiteStore(path) as other:
        before = ana.revision("ana")
        assert other.revision("ana") == before
        other.put_items("ana", [note("3")])
        assert ana.revision("ana") == other.revision("ana") > before


def test_revision_of_a_returning_user_is_new(ana: SQLiteStore) -> None:
    before = ana.revision("ana")
    ana.forget("ana")
    ana.put_user(User("ana"))
    assert ana.revision("ana") > before


def test_item_with_a_malformed_time_is_refused(ana: SQLiteStore) -> None:
    before = ana.items("ana")
    with pytest.raises(InvalidDataError, match="item 'm1' of Mail: not a time: 'soon'"):
        ana.put_items("ana", [note("9"), Item("m1", "Mail", {"subject": "kiln", "date": "soon"})])
    assert ana.items("ana") == before
