"""Damaged files are reported as damaged: nothing is read altered, and no text is quoted."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.test_backup import VECTOR, contents, damage, fill

from contextune.errors import DamagedStoreError
from contextune.store import SQLiteStore
from contextune.store.verify import verify
from contextune.store.wal_check import lost_commits
from contextune.types import Item, User

FRAME = 24 + 8192


@pytest.fixture
def filled(path: Path) -> Path:
    with SQLiteStore(path) as store:
        fill(store)
    return path


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def flip(content: bytes, place: int, bit: int = 5) -> bytes:
    return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def test_no_flipped_bit_is_read_altered(filled: Path) -> None:
    expected, content, rng = contents(filled)[:-2], filled.read_bytes(), random.Random(19)
    damaged = 0
    for _ in range(150):
        filled.write_bytes(flip(content, rng.randrange(len(content)), rng.randrange(8)))
        try:
            assert contents(filled)[:-2] == expected
        except (DamagedStoreError, KeyError):  # a damaged vector is missing
            damaged += 1
            assert verify(filled).problems
        log_of(filled).unlink(missing_ok=True)
    assert damaged > 10


def test_changed_text_is_reported(filled: Path) -> None:
    damage(filled)
    with SQLiteStore(filled) as store, pytest.raises(DamagedStoreError, match=r"restore it from a backup"):
        store.items("ana")


def test_text_that_is_not_utf8_is_not_quoted(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put_user(User("ana"))
        store.put_items("ana", [Item("1", "Notes", {"title": "Zaunkönig im Garten"})])
    path.write_bytes(path.read_bytes().replace("ö".encode(), b"\xc3\x28"))
    with SQLiteStore(path) as store, pytest.raises(DamagedStoreError, match="not UTF-8") as caught:
        store.items("ana")
    assert "Garten" not in str(caught.value)
    assert verify(path).problems


def test_damaged_name_in_the_schema(filled: Path) -> None:
    filled.write_bytes(filled.read_bytes().replace(b"CREATE TABLE items", b"CREATE TABLE \xff\xfeems"))
    with pytest.raises(DamagedStoreError), SQLiteStore(filled) as store:
        store.items("ana")


def test_row_of_another_user_is_reported(filled: Path) -> None:
    with SQLiteStore(filled) as store:
        store.put_user(User("rui"))
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute("DROP TRIGGER items_changed")
        connection.execute("UPDATE items SET user = 2 WHERE id = '1'")
        connection.execute("UPDATE sizes SET items = 1 WHERE user = 2")
        connection.commit()
    with SQLiteStore(filled) as store, pytest.raises(DamagedStoreError):
        store.items("rui", ["1"])


def test_damaged_vector_is_missing(filled: Path) -> None:
    content = filled.read_bytes()
    filled.write_bytes(content.replace(VECTOR.tobytes(), VECTOR.tobytes()[:-1] + b"\x00"))
    with SQLiteStore(filled) as store:
        assert store.vectors("ana", "m", [b"digest"]) == {}
        assert store.enriched_vectors("ana", "m") == {}
        store.put_vectors("ana", "m", {b"digest": VECTOR})
        assert store.vectors("ana", "m", [b"digest"])[b"digest"].tolist() == VECTOR.tolist()


def crashed(path: Path, target: Path) -> bytes:
    """Leave a store as a crash would, with all its transactions in the log."""
    with SQLiteStore(path) as store:
        fill(store)
        target.write_bytes(path.read_bytes())
        log = log_of(path).read_bytes()
    log_of(target).write_bytes(log)
    return log


@pytest.mark.parametrize("place", [0, 5, 17, 25, 32 + 1, 32 + 9, 32 + 17, 32 + 500, 32 + FRAME + 700])
def test_damaged_log_is_reported(path: Path, tmp_path: Path, place: int) -> None:
    target = tmp_path / "crashed.db"
    log = crashed(path, target)
    assert lost_commits(log_of(target)) == 0
    log_of(target).write_bytes(flip(log, place))
    before = target.read_bytes()
    with pytest.raises(DamagedStoreError, match=r"log .* is damaged.*restore the store from a backup"):
        SQLiteStore(target)
    assert verify(target).problems
    assert (target.read_bytes(), log_of(target).read_bytes()) == (before, flip(log, place))


@pytest.mark.parametrize("cut", [1, 24, 5000, FRAME, FRAME + 1, 3 * FRAME])
def test_interrupted_log_is_no_damage(path: Path, tmp_path: Path, cut: int) -> None:
    target = tmp_path / "crashed.db"
    log = crashed(path, target)
    log_of(target).write_bytes(log[:-cut])
    with SQLiteStore(target) as store:
        assert store.users() == ["ana"]


def test_interrupted_write_over_an_older_log_is_no_damage(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE numbers (text)")
        for _ in range(20):
            connection.execute("INSERT INTO numbers VALUES (randomblob(3000))")
        connection.execute("PRAGMA wal_checkpoint")
        connection.execute("INSERT INTO numbers VALUES (randomblob(3000))")  # at the start of the same log
        log = log_of(path).read_bytes()
        assert lost_commits(log_of(path)) == 0
        torn = path.with_name("torn-wal")
        torn.write_bytes(log[: 32 + 100] + b"\0" * 100 + log[32 + 200 :])
        assert lost_commits(torn) == 0
