"""Forgetting leaves no byte behind, or says that it still has to."""

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from contextune.errors import StoreError, UnknownUserError
from contextune.store import SQLiteStore, text_digest
from contextune.types import Contact, Item, UsageEvent, User

ANA = "ana.simoes@example.org"
VECTOR = np.random.default_rng(0).standard_normal(384).astype(np.float32)


def secret(kind: str, number: int = 0) -> str:
    return f"{kind}-Zaunkönig-{number}"


TRACES = {
    "user": ANA.encode(),
    "words": "Zaunkönig".encode(),
    "vector": VECTOR.tobytes()[:64],
    "text digest": text_digest(Item("x", "Notes", {"title": secret("title", 1)}).text),
    "user digest": text_digest(ANA),
}


def bytes_on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))


def fill(store: SQLiteStore) -> None:
    user = User(
        ANA,
        {"name": secret("name")},
        {secret("place"): (1.0, 2.0)},
        (Contact(secret("contact")),),
    )
    store.put_user(user)
    store.put_user(User("rui"))
    items = [Item(secret("item", n), "Notes", {"title": secret("title", n)}) for n in range(500)]
    store.put_items(user.id, items)
    store.put_items("rui", [Item(str(n), "Notes", {"title": "keep me " * 9}) for n in range(500)])
    store.put_uses(user.id, [UsageEvent(item.id, datetime(2024, 5, 16), secret("place")) for item in items])
    store.put_vectors(user.id, "m", {text_digest(item.text): VECTOR for item in items})
    store.put_items(user.id, items[:100])
    store.delete_items(user.id, [item.id for item in items[100:200]])


def left(path: Path) -> list[str]:
    found = bytes_on_disk(path)
    return [name for name, trace in TRACES.items() if trace in found]


def test_no_trace_is_left_while_the_store_is_open(store: SQLiteStore, path: Path) -> None:
    fill(store)
    assert set(left(path)) == set(TRACES) - {"user digest"}  # or the search below would prove nothing
    store.forget(ANA)
    assert {file.name for file in path.parent.iterdir()} >= {"store.db", "store.db-wal"}
    assert left(path) == []
    assert store.users() == ["rui"]
    assert len(store.items("rui")) == 500


def test_nobody_is_forgotten_twice(store: SQLiteStore) -> None:
    fill(store)
    store.forget(ANA)
    for user in (ANA, "never known"):
        with pytest.raises(UnknownUserError, match=user):
            store.forget(user)


def test_a_reader_in_the_way(path: Path) -> None:
    with SQLiteStore(path, timeout=0.2) as store:
        fill(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM items").fetchone()
            with pytest.raises(StoreError, match=rf"rows .* deleted.*call forget\('{ANA}'\) again"):
                store.forget(ANA)
            assert store.users() == ["rui"]
            assert left(path)
            with pytest.raises(UnknownUserError, match="never known"):
                store.forget("never known")
            with pytest.raises(StoreError, match="again"):
                store.forget(ANA)
    with SQLiteStore(path) as store:
        store.forget(ANA)
        assert left(path) == []
        with pytest.raises(UnknownUserError):
            store.forget(ANA)


def test_a_writer_in_the_way(path: Path) -> None:
    with SQLiteStore(path, timeout=0.2) as store:
        fill(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked") as caught:
                store.forget(ANA)
        assert "deleted" not in str(caught.value)
        assert len(store.users()) == 2
        store.forget(ANA)
        assert left(path) == []


def test_a_user_who_came_back_meanwhile(path: Path) -> None:
    with SQLiteStore(path, timeout=0.2) as store:
        fill(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM items").fetchone()
            with pytest.raises(StoreError, match="again"):
                store.forget(ANA)
        store.put_user(User(ANA))
        assert store.items(ANA) == []
        store.forget(ANA)
        assert left(path) == []
