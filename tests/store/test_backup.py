"""A backup is one consistent state; restoring it brings everything back."""

import os
import stat
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from contextune.errors import DamagedStoreError, StoreError
from contextune.store import SQLiteStore
from contextune.store.backup import backup, restore
from contextune.store.verify import verify
from contextune.types import Feedback, Item, Request, UsageEvent, User

VECTOR = np.ones(4, np.float32)


def fill(store: SQLiteStore, user: str = "ana", count: int = 50) -> None:
    store.put_user(User(user, {"name": "Ana"}))
    store.put_items(user, [Item(str(number), "Notes", {"title": "x" * 300}) for number in range(count)])
    store.put_uses(user, [UsageEvent("1", datetime(2024, 5, 16), "home")])
    request = Request("Where is it?", user, datetime(2024, 5, 16, 17, 40))
    store.put_feedback(user, Feedback(request, ("1",)))
    store.put_vectors(user, "m", {b"digest": VECTOR})
    store.put_enriched_vectors(user, "m", {"1": (b"digest", VECTOR)})


def contents(path: Path, user: str = "ana") -> tuple[object, ...]:
    with SQLiteStore(path) as store:
        return (
            store.users(),
            store.user(user),
            store.items(user),
            store.uses(user),
            store.feedback(user),
            store.vectors(user, "m", [b"digest"])[b"digest"].tolist(),
            store.enriched_vectors(user, "m").keys(),
            store.revision(user),
            store.sizes(user),
        )


def damage(path: Path, text: bytes = b"xxxxxxxx") -> None:
    content = path.read_bytes()
    place = content.index(text)
    path.write_bytes(content[:place] + b"y" + content[place + 1 :])


def test_restoring_brings_everything_back(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    fill(store)
    check = backup(path, tmp_path / "copy.db")
    assert (check.users, check.items, check.problems) == (1, 50, ())
    before = contents(path)
    store.delete_items("ana", [str(number) for number in range(50)])
    store.close()
    assert restore(tmp_path / "copy.db", path, overwrite=True).items == 50
    assert contents(path) == before
    assert verify(path).problems == ()


def test_restoring_where_no_store_is(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    fill(store)
    backup(path, tmp_path / "copy.db")
    restore(tmp_path / "copy.db", tmp_path / "new.db")
    assert contents(tmp_path / "new.db") == contents(path)


def test_changes_in_the_log_are_backed_up(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    fill(store)
    assert path.with_name("store.db-wal").stat().st_size
    backup(path, tmp_path / "copy.db")
    assert contents(tmp_path / "copy.db") == contents(path)


_WRITER = """
import sys
from contextune.store import SQLiteStore
from contextune.types import Item

with SQLiteStore(sys.argv[1]) as store:
    for number in range(10**6):
        store.put_items("ana", [Item(name, "Notes", {"title": f"{number} " * 40}) for name in "abcdefgh"])
        print(number, flush=True)
"""


def test_backup_is_consistent_while_another_process_writes(
    store: SQLiteStore, path: Path, tmp_path: Path
) -> None:
    fill(store, count=2)
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    try:
        writer.stdout.readline()
        for number in range(5):
            target = tmp_path / f"copy-{number}.db"
            backup(path, target)
            with SQLiteStore(target) as copy:
                titles = {item.fields["title"] for item in copy.items("ana", list("abcdefgh"))}
            assert len(titles) == 1  # all eight are of one transaction
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()


def test_backup_contains_no_deleted_data(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", [Item("1", "Notes", {"title": "Zaunkönig"})])
    store.delete_items("ana", ["1"])
    backup(path, tmp_path / "copy.db")
    assert "Zaunkönig".encode() not in (tmp_path / "copy.db").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_backup_is_readable_by_the_owner_only(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    fill(store)
    before = os.umask(0)
    try:
        backup(path, tmp_path / "copy.db")
        restore(tmp_path / "copy.db", tmp_path / "new.db")
    finally:
        os.umask(before)
    for name in ("copy.db", "new.db"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_existing_files_are_kept_unless_told(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    fill(store)
    target = tmp_path / "copy.db"
    backup(path, target)
    before = target.read_bytes()
    with pytest.raises(StoreError, match="exists already"):
        backup(path, target)
    with pytest.raises(StoreError, match="exists already"):
        restore(target, path)
    store.delete_items("ana", ["1"])
    assert target.read_bytes() == before
    assert backup(path, target, overwrite=True).items == 49
    assert {file.name for file in tmp_path.iterdir()} == {
        "store.db", "store.db-wal", "store.db-shm", "copy.db",
    }  # fmt: skip


def test_store_in_use_is_not_replaced(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    fill(store)
    backup(path, tmp_path / "copy.db")
    store.delete_items("ana", ["1"])
    with pytest.raises(StoreError, match="in use: stop the service"):
        restore(tmp_path / "copy.db", path, overwrite=True)
    assert len(store.items("ana")) == 49


def test_damaged_backup_is_not_restored(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    fill(store)
    target = tmp_path / "copy.db"
    backup(path, target)
    store.close()
    damage(target)
    assert any("checksum" in problem for problem in verify(target).problems)
    before = path.read_bytes()
    with pytest.raises(DamagedStoreError, match="use another backup"):
        restore(target, path, overwrite=True)
    assert path.read_bytes() == before


def test_damaged_store_is_not_backed_up_but_replaced(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    fill(store)
    backup(path, tmp_path / "copy.db")
    before = contents(path)
    store.close()
    damage(path)
    with pytest.raises(DamagedStoreError):
        backup(path, tmp_path / "second.db")
    assert not (tmp_path / "second.db").exists()
    restore(tmp_path / "copy.db", path, overwrite=True)
    assert contents(path) == before


def test_destroyed_store_is_replaced_with_its_log(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    fill(store)
    backup(path, tmp_path / "copy.db")
    before = contents(path)
    log = path.with_name("store.db-wal").read_bytes()
    store.close()
    path.write_bytes(b"\x5a" * 10_000)
    path.with_name("store.db-wal").write_bytes(log)
    restore(tmp_path / "copy.db", path, overwrite=True)
    assert contents(path) == before


def test_other_files_are_no_backup(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with pytest.raises(StoreError, match="no such store"):
        restore(other, path)
    other.write_bytes(b"")
    with pytest.raises(StoreError, match="is empty"):
        restore(other, path)
    other.write_text("text " * 100)
    with pytest.raises(StoreError, match="not a SQLite file"):
        restore(other, path)
    assert not path.exists()


def test_verify_finds_missing_rows(store: SQLiteStore, path: Path) -> None:
    fill(store)
    with store._connections.use() as connection:  # pyright: ignore[reportPrivateUsage]
        connection.execute("UPDATE sizes SET items = items + 1")
    assert verify(path).problems == ("users with missing rows in the table items: 1",)
    with pytest.raises(DamagedStoreError, match="50 of 51 rows"):
        store.items("ana")


def test_backup_reports_the_rows_it_has_verified(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "me.db") as store:
        store.put_user(User("ines"))
        store.put_items("ines", [Item(f"n{n}", "Notes", {"title": f"note {n}"}) for n in range(20)])
    reports: list[tuple[int, int]] = []
    backup(tmp_path / "me.db", tmp_path / "copy.db", progress=lambda done, of: reports.append((done, of)))
    done, total = reports[-1]
    assert done == total >= 20
