"""What is not a store of ours is refused, in words, and left as it is."""

import os
import random
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from contextune.errors import StoreError
from contextune.store import SQLiteStore
from contextune.store.schema import STORE
from contextune.types import Item, User


def refused(path: Path, why: str) -> None:
    before = path.read_bytes()
    beside = sorted(file.name for file in path.parent.iterdir())
    with pytest.raises(StoreError, match=why) as caught:
        SQLiteStore(path, timeout=0.5)
    assert path.name in str(caught.value)
    assert path.read_bytes() == before
    assert sorted(file.name for file in path.parent.iterdir()) == beside


def filled(path: Path) -> Path:
    with SQLiteStore(path) as store:
        store.put_user(User("ana"))
        store.put_items("ana", (Item(str(n), "Notes", {"title": "x" * 300}) for n in range(500)))
    return path


def more(store: SQLiteStore) -> None:
    store.put_items("ana", (Item(f"new {n}", "Notes", {"title": "y" * 300}) for n in range(100)))


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def crash(path: Path, target: Path) -> None:
    """Copy an open store as a crash would leave it: some of it in the file, some in the log."""
    target.write_bytes(path.read_bytes())
    log_of(target).write_bytes(log_of(path).read_bytes())
    assert log_of(target).stat().st_size > 0


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"folder .*nowhere.* is missing"):
        SQLiteStore(tmp_path / "nowhere" / "store.db")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        SQLiteStore(tmp_path)


def test_memory() -> None:
    with pytest.raises(StoreError, match="name a file"):
        SQLiteStore(":memory:")


def test_an_empty_file_is_new(path: Path) -> None:
    path.touch()
    with SQLiteStore(path) as store:
        assert store.users() == []


def test_a_name_that_needs_quoting(tmp_path: Path) -> None:
    path = tmp_path / "my store? 100% #1 é.db"
    with SQLiteStore(str(path)) as store:
        store.put_user(User("ana"))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_relative_path_outlives_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with SQLiteStore("store.db") as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.put_user(User("ana"))
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["store.db"]


@pytest.mark.parametrize("size", [1, 15, 100, 511, 4096, 100_000])
def test_random_bytes(path: Path, size: int) -> None:
    path.write_bytes(random.Random(size).randbytes(size))
    refused(path, "not a SQLite file|not a store")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_of_another_program(path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE users (id TEXT)")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    refused(path, "another program")


def test_a_database_of_another_program_with_a_log(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE users (id TEXT)")
        connection.commit()
        refused(path, "another program")


def test_a_newer_store(path: Path) -> None:
    with closing(sqlite3.connect(filled(path))) as connection:
        connection.execute(f"PRAGMA user_version = {len(STORE.steps) + 1}")
    refused(path, "pip install -U contextune")


def test_a_newer_store_that_crashed(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with closing(sqlite3.connect(filled(path))) as connection:
        connection.execute(f"PRAGMA user_version = {len(STORE.steps) + 1}")
        crash(path, target)  # with the new version in the log only
    before = target.read_bytes(), log_of(target).read_bytes()
    with pytest.raises(StoreError, match="pip install -U contextune"):
        SQLiteStore(target)
    assert (target.read_bytes(), log_of(target).read_bytes()) == before


@pytest.mark.parametrize("cut", [1, 100, 8191, 8192, 20_000, 100_000])
def test_a_file_that_was_cut_off(path: Path, cut: int) -> None:
    filled(path)
    os.truncate(path, path.stat().st_size - cut)
    refused(path, "cut off|damaged")


@pytest.mark.parametrize("left", [16, 50, 100, 8192])
def test_a_file_of_which_little_is_left(path: Path, left: int) -> None:
    filled(path)
    os.truncate(path, left)
    refused(path, "cut off|damaged|not a SQLite file")


def test_a_store_that_crashed_is_opened(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with SQLiteStore(filled(path)) as store:
        more(store)
        crash(path, target)
    with SQLiteStore(target) as store:
        assert len(store.items("ana")) == 600


def test_a_store_that_crashed_on_its_way_from_log_to_file_is_opened(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with SQLiteStore(filled(path)) as store:
        more(store)
        crash(path, target)
    with path.open("rb") as done, target.open("r+b") as begun:
        begun.write(done.read(8192))  # the first page is there and speaks of pages that are not
    with SQLiteStore(target) as store:
        assert len(store.items("ana")) == 600


def test_a_cut_off_file_with_a_log_is_refused(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with SQLiteStore(filled(path)) as store:
        more(store)
        crash(path, target)
    os.truncate(target, 8192)
    before = target.read_bytes(), log_of(target).read_bytes()
    with pytest.raises(StoreError, match=r"cut off|damaged"):
        SQLiteStore(target)
    assert (target.read_bytes(), log_of(target).read_bytes()) == before


def test_an_empty_file_beside_a_full_log_is_not_new(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with SQLiteStore(filled(path)) as store:
        more(store)
        crash(path, target)
    target.write_bytes(b"")
    before = log_of(target).read_bytes()
    with pytest.raises(StoreError, match="restore the file"):
        SQLiteStore(target)
    assert (target.read_bytes(), log_of(target).read_bytes()) == (b"", before)


def test_damage_inside_is_told(path: Path) -> None:
    filled(path)
    content = bytearray(path.read_bytes())
    content[8192 : len(content)] = b"\x5a" * (len(content) - 8192)
    path.write_bytes(content)
    with SQLiteStore(path) as store, pytest.raises(StoreError, match="damaged"):
        store.items("ana")


def test_a_file_that_goes_away_is_told(path: Path) -> None:
    store = SQLiteStore(path)
    path.unlink()
    with pytest.raises(StoreError, match="cannot be opened"):
        store.users()
    store.close()
    assert not path.exists()


def test_the_file_says_whose_it_is(path: Path) -> None:
    with SQLiteStore(path):
        assert path.read_bytes()[68:72] == STORE.application_id.to_bytes(4, "big")


def test_a_full_disk_is_told(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put_user(User("ana"))
        with store._connections.use() as connection:  # pyright: ignore[reportPrivateUsage]  # a disk of forty pages
            connection.execute("PRAGMA max_page_count = 40")
        with pytest.raises(StoreError, match="disk is full"):
            store.put_items("ana", (Item(str(n), "Notes", {"title": "x" * 300}) for n in range(5000)))
        assert store.items("ana") == []
        assert store.put_items("ana", [Item("1", "Notes", {})]) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps permissions elsewhere")
def test_nobody_else_can_read_it(path: Path) -> None:
    before = os.umask(0)
    try:
        with SQLiteStore(path) as store:
            store.put_user(User("ana"))
            files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert len(files) > 1  # the log beside it holds as much
    assert set(files.values()) == {0o600}
