"""Adding, replacing and deleting; all of a call or none of it; the revision."""

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


def three_then_trouble(*names: str) -> Iterator[Item]:
    for name in names:
        yield note(name)
    raise OSError("the source broke off")


@pytest.fixture
def ana(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ana"))
    store.put_items("ana", [note("1", "one"), note("2", "two")])
    store.put_uses("ana", [UsageEvent("1", TIME), UsageEvent("2", TIME)])
    return store


def test_an_item_is_replaced_and_keeps_its_uses(ana: SQLiteStore) -> None:
    assert ana.put_items("ana", [note("2", "zwei"), note("3", "drei")]) == 2
    assert ana.items("ana") == [note("1", "one"), note("2", "zwei"), note("3", "drei")]
    assert len(ana.uses("ana")) == 2


def test_a_user_is_replaced_and_keeps_items_and_uses(ana: SQLiteStore) -> None:
    ana.put_user(User("ana", {"name": "Ana"}))
    assert len(ana.items("ana")) == 2
    assert len(ana.uses("ana")) == 2


def test_an_item_is_deleted_with_its_uses(ana: SQLiteStore) -> None:
    assert ana.delete_items("ana", ["2", "none", "2"]) == 1
    assert ana.items("ana") == [note("1", "one")]
    assert ana.uses("ana") == [UsageEvent("1", TIME)]
    ana.put_items("ana", [note("2")])
    assert ana.uses("ana", item="2") == []


def test_deleted_words_are_not_left_in_the_file(store: SQLiteStore, path: Path) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", [note("1", "Zaunkönig"), note("2", "stays")])
    store.close()
    assert "Zaunkönig".encode() in path.read_bytes()
    with SQLiteStore(path) as again:
        again.delete_items("ana", ["1"])
    assert "Zaunkönig".encode() not in path.read_bytes()


def test_an_iterable_that_breaks_off_leaves_nothing(ana: SQLiteStore) -> None:
    revision = ana.revision("ana")
    with pytest.raises(OSError, match="broke off"):
        ana.put_items("ana", three_then_trouble("1", "8", "9"))
    with pytest.raises(OSError, match="broke off"):
        ana.delete_items("ana", (item.id for item in three_then_trouble("1", "2")))
    with pytest.raises(OSError, match="broke off"):
        ana.put_uses("ana", (UsageEvent(item.id, TIME, "home") for item in three_then_trouble("1", "2")))
    assert ana.items("ana") == [note("1", "one"), note("2", "two")]
    assert len(ana.uses("ana")) == 2
    assert ana.revision("ana") == revision
    ana.put_items("ana", [note("3")])  # and the store goes on


def test_vectors_that_are_none_leave_nothing(ana: SQLiteStore) -> None:
    good = np.ones(3, dtype=np.float32)
    with pytest.raises(Exception, match="shape"):
        ana.put_vectors("ana", "m", {b"a": good, b"b": np.ones((2, 2), dtype=np.float32)})
    assert ana.vectors("ana", "m", [b"a", b"b"]) == {}


def test_an_iterable_may_read_the_store_but_not_write_to_it(ana: SQLiteStore) -> None:
    def copies() -> Iterator[Item]:
        for item in ana.items("ana", ["1", "2"]):
            yield Item(f"copy {item.id}", item.app, item.fields)

    assert ana.put_items("ana", copies()) == 2

    def writes() -> Iterator[Item]:
        yield note("5")
        ana.put_items("ana", [note("6")])

    with pytest.raises(StoreError, match="make a list"):
        ana.put_items("ana", writes())
    assert ana.items("ana", ["5", "6"]) == []


def test_the_revision_grows_with_every_change(ana: SQLiteStore) -> None:
    seen = [ana.revision("ana")]
    for change in (
        lambda: ana.put_user(User("ana", {"name": "Ana"})),
        lambda: ana.put_items("ana", [note("3")]),
        lambda: ana.put_items("ana", [note("3", "three")]),
        lambda: ana.put_uses("ana", [UsageEvent("3", TIME)]),
        lambda: ana.delete_items("ana", ["3"]),
    ):
        change()
        seen.append(ana.revision("ana"))
    assert seen == sorted(set(seen))
    assert [revision.items for revision in seen][3] == [revision.items for revision in seen][4]  # a use


def test_the_revision_stays_where_nothing_changes(ana: SQLiteStore) -> None:
    ana.put_user(User("rui"))
    revision = ana.revision("ana")
    ana.put_items("rui", [note("1")])
    ana.put_items("ana", [])
    ana.put_items("ana", [note("1", "one")])
    ana.put_uses("ana", [UsageEvent("1", TIME)])
    ana.delete_items("ana", ["none"])
    ana.put_vectors("ana", "m", {b"d": np.ones(3, dtype=np.float32)})
    assert ana.revision("ana") == revision


def test_the_revision_is_one_for_all_who_look(ana: SQLiteStore, path: Path) -> None:
    with SQLiteStore(path) as other:
        before = ana.revision("ana")
        assert other.revision("ana") == before
        other.put_items("ana", [note("3")])
        assert ana.revision("ana") == other.revision("ana") > before


def test_the_revision_of_a_user_who_comes_back_is_new(ana: SQLiteStore) -> None:
    before = ana.revision("ana")
    ana.forget("ana")
    ana.put_user(User("ana"))
    assert ana.revision("ana") > before


def test_an_item_whose_time_cannot_be_read_is_refused(ana: SQLiteStore) -> None:
    before = ana.items("ana")
    with pytest.raises(InvalidDataError, match="item 'm1' of Mail: 'soon' is no time"):
        ana.put_items("ana", [note("9"), Item("m1", "Mail", {"subject": "kiln", "date": "soon"})])
    assert ana.items("ana") == before
