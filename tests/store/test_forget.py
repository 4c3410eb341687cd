"""`forget` leaves no byte of the user in the files, or says that it could not finish."""

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


def traces_left(path: Path) -> list[str]:
    content = bytes_on_disk(path)
    return [name for name, trace in TRACES.items() if trace in content]


def test_no_trace_is_left_in_an_open_store(store: SQLiteStore, path: Path) -> None:
    fill(store)
    assert set(traces_left(path)) == set(TRACES) - {"user digest"}  # so that the check below proves something
    store.forget(ANA)
    assert {file.name for file in path.parent.iterdir()} >= {"store.db", "store.db-wal"}
    assert traces_left(path) == []
    assert store.users() == ["rui"]
    assert len(store.items("rui")) == 500


def test_forgetting_twice_is_an_error(store: SQLiteStore) -> None:
    fill(store)
    store.forget(ANA)
    for user in (ANA, "unknown"):
        with pytest.raises(UnknownUserError, match=user):
            store.forget(user)


def test_open_reader_blocks_rewriting_until_forget_is_repeated(path: Path) -> None:
    with SQLiteStore(path, timeout=0.2) as store:
        fill(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM items").fetchone()
            with pytest.raises(StoreError, match=rf"rows .* deleted.*call forget\('{ANA}'\) again"):
                store.forget(ANA)
            assert store.users() == ["rui"]
            assert traces_left(path)
            with pytest.raises(UnknownUserError, match="unknown"):
                store.forget("unknown")
            with pytest.raises(StoreError, match="again"):
                store.forget(ANA)
    with SQLiteStore(path) as store:
        store.forget(ANA)
        assert traces_left(path) == []
        with pytest.raises(UnknownUserError):
            store.forget(ANA)


def test_open_writer_blocks_forget(path: Path) -> None:
    with SQLiteStore(path, timeout=0.2) as store:
        fill(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked") as caught:
                store.forget(ANA)
        assert "deleted" not in str(caught.value)
        assert len(store.users()) == 2
        store.forget(ANA)
        assert traces_left(path) == []


def test_user_who_returned_before_the_rewrite(path: Path) -> None:
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
        assert traces_left(path) == []


def test_progress_of_the_rewriting_is_reported(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(User("rui"))
        store.put_user(User(ANA))
        items = [
            Item(str(n), "Notes", {"title": f"note {n}", "text": "keep me " * 99}) for n in range(20_000)
        ]
        store.put_items("rui", items)
        store.forget(ANA, progress=lambda done, of: calls.append((done, of)))
        size = (tmp_path / "store.db").stat().st_size
    assert {total for _, total in calls} == {calls[0][1]}
    done = [done / total for done, total in calls]
    assert calls[0][1] == pytest.approx(2 * size, rel=0.1)
    assert done == sorted(done)
    assert 0 < done[0] < 0.2
    assert sum(0.1 < share < 0.9 for share in done) >= 3
    assert done[-1] == 1
