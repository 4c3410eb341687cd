"""Files that are not a store are refused with a reason, and left unchanged."""

import os
import random
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from contextune.errors import StoreError
from contextune.store import SQLiteStore, sqlite_file
from contextune.store import schema as schema_module
from contextune.store.schema import STORE_SCHEMA, DatabaseSchema
from contextune.types import Item, User


def assert_refused(path: Path, reason: str) -> None:
    before = path.read_bytes()
    siblings = sorted(file.name for file in path.parent.iterdir())
    with pytest.raises(StoreError, match=reason) as caught:
        SQLiteStore(path, timeout=0.5)
    assert path.name in str(caught.value)
    assert path.read_bytes() == before
    assert sorted(file.name for file in path.parent.iterdir()) == siblings


def fill(path: Path) -> Path:
    with SQLiteStore(path) as store:
        store.put_user(User("ana"))
        store.put_items("ana", (Item(str(n), "Notes", {"title": "x" * 300}) for n in range(500)))
    return path


def add_items(store: SQLiteStore) -> None:
    store.put_items("ana", (Item(f"new {n}", "Notes", {"title": "y" * 300}) for n in range(100)))


def wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def crash(path: Path, target: Path) -> None:
    """Copy an open store as a crash would leave it: some of it in the file, some in the log."""
    target.write_bytes(path.read_bytes())
    wal(target).write_bytes(wal(path).read_bytes())
    assert wal(target).stat().st_size > 0


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no such folder: .*nowhere"):
        SQLiteStore(tmp_path / "nowhere" / "store.db")


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        SQLiteStore(tmp_path)


def test_memory_is_refused() -> None:
    with pytest.raises(StoreError, match="name a file"):
        SQLiteStore(":memory:")


def test_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with SQLiteStore(path) as store:
        assert store.users() == []


def test_file_name_with_special_characters(tmp_path: Path) -> None:
    path = tmp_path / "my store? 100% #1 é.db"
    with SQLiteStore(str(path)) as store:
        store.put_user(User("ana"))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_relative_path_survives_chdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with SQLiteStore("store.db") as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.put_user(User("ana"))
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["store.db"]


@pytest.mark.parametrize("size", [1, 15, 100, 511, 4096, 100_000])
def test_random_bytes_are_refused(path: Path, size: int) -> None:
    path.write_bytes(random.Random(size).randbytes(size))
    assert_refused(path, "not a SQLite file|not a Contextune store")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_database_of_another_program_is_refused(path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE users (id TEXT)")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    assert_refused(path, "another program")


def test_database_of_another_program_with_a_log_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE users (id TEXT)")
        connection.commit()
        assert_refused(path, "another program")


def test_newer_store_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(fill(path))) as connection:
        connection.execute(f"PRAGMA user_version = {len(STORE_SCHEMA.migrations) + 1}")
    assert_refused(path, "pip install -U contextune")


def test_newer_store_after_a_crash_is_refused(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with closing(sqlite3.connect(fill(path))) as connection:
        connection.execute(f"PRAGMA user_version = {len(STORE_SCHEMA.migrations) + 1}")
        crash(path, target)  # with the new version in the log only
    before = target.read_bytes(), wal(target).read_bytes()
    with pytest.raises(StoreError, match="pip install -U contextune"):
        SQLiteStore(target)
    assert (target.read_bytes(), wal(target).read_bytes()) == before


@pytest.mark.parametrize("cut", [1, 100, 8191, 8192, 20_000, 100_000])
def test_truncated_file_is_refused(path: Path, cut: int) -> None:
    fill(path)
    os.truncate(path, path.stat().st_size - cut)
    assert_refused(path, "truncated|damaged")


@pytest.mark.parametrize("left", [16, 50, 100, 8192])
def test_nearly_empty_file_is_refused(path: Path, left: int) -> None:
    fill(path)
    os.truncate(path, left)
    assert_refused(path, "truncated|damaged|not a SQLite file")


def test_store_is_opened_after_a_crash(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with SQLiteStore(fill(path)) as store:
        add_items(store)
        crash(path, target)
    with SQLiteStore(target) as store:
        assert len(store.items("ana")) == 600


def test_store_is_opened_after_a_crash_during_a_checkpoint(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with SQLiteStore(fill(path)) as store:
        add_items(store)
        crash(path, target)
    with path.open("rb") as complete, target.open("r+b") as partial:
        partial.write(complete.read(8192))  # the first page refers to pages that are not written yet
    with SQLiteStore(target) as store:
        assert len(store.items("ana")) == 600


def test_truncated_file_with_a_log_is_refused(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with SQLiteStore(fill(path)) as store:
        add_items(store)
        crash(path, target)
    os.truncate(target, 8192)
    before = target.read_bytes(), wal(target).read_bytes()
    with pytest.raises(StoreError, match=r"truncated|damaged"):
        SQLiteStore(target)
    assert (target.read_bytes(), wal(target).read_bytes()) == before


def test_empty_file_with_a_log_is_refused(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "crashed.db"
    with SQLiteStore(fill(path)) as store:
        add_items(store)
        crash(path, target)
    target.write_bytes(b"")
    before = wal(target).read_bytes()
    with pytest.raises(StoreError, match="restore the file"):
        SQLiteStore(target)
    assert (target.read_bytes(), wal(target).read_bytes()) == (b"", before)


def test_damaged_pages_raise_store_error(path: Path) -> None:
    fill(path)
    content = bytearray(path.read_bytes())
    content[8192 : len(content)] = b"\x5a" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"), SQLiteStore(path) as store:
        store.items("ana")


def test_deleted_file_raises_store_error(path: Path) -> None:
    store = SQLiteStore(path)
    path.unlink()
    with pytest.raises(StoreError, match="cannot be opened"):
        store.users()
    store.close()
    assert not path.exists()


def test_application_id_is_in_the_header(path: Path) -> None:
    with SQLiteStore(path):
        assert path.read_bytes()[68:72] == STORE_SCHEMA.application_id.to_bytes(4, "big")


def test_full_disk_raises_store_error(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put_user(User("ana"))
        with store._connections.use() as connection:  # pyright: ignore[reportPrivateUsage]  # a disk of forty pages
            connection.execute("PRAGMA max_page_count = 40")
        with pytest.raises(StoreError, match="disk is full"):
            store.put_items("ana", (Item(str(n), "Notes", {"title": "x" * 300}) for n in range(5000)))
        assert store.items("ana") == []
        assert store.put_items("ana", [Item("1", "Notes", {})]) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_files_are_readable_by_the_owner_only(path: Path) -> None:
    before = os.umask(0)
    try:
        with SQLiteStore(path) as store:
            store.put_user(User("ana"))
            files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert len(files) > 1  # the log too
    assert set(files.values()) == {0o600}


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize("exists", [False, True])
def test_file_is_private_before_anything_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    seen: list[tuple[int, int]] = []

    def migrate(connection: sqlite3.Connection, schema: DatabaseSchema) -> None:
        seen.append((stat.S_IMODE(path.stat().st_mode), path.stat().st_size))
        schema_module.migrate(connection, schema)

    monkeypatch.setattr(sqlite_file, "migrate", migrate)
    before = os.umask(0)
    try:
        if exists:
            path.touch()
        SQLiteStore(path).close()
    finally:
        os.umask(before)
    assert seen == [(0o600, 0)]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_commits_are_synced_to_the_disk(path: Path) -> None:
    levels: list[int] = []
    with SQLiteStore(path) as store:
        store.put_user(User("ana"))

        def items() -> Iterator[Item]:
            with store._connections.use() as connection:  # pyright: ignore[reportPrivateUsage]
                levels.append(connection.execute("PRAGMA synchronous").fetchone()[0])
            yield Item("1", "Notes", {})

        store.put_items("ana", items())
    assert levels == [2]  # FULL: the log is synced at each commit
