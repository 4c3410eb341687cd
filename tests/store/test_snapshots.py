"""Snapshot files are complete or absent, whoever writes, reads and deletes at the same time."""

import os
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from contextune.store import SQLiteStore
from contextune.store.snapshots.layout import SnapshotError, read_snapshot, write_snapshot
from contextune.types import Item, User


def test_arrays_round_trip(tmp_path: Path) -> None:
    sections = {
        "empty": np.empty((0, 3), np.float32),
        "numbers": np.arange(5),
        "matrix": np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2],
        "flags": np.array([True, False]),
    }
    with (tmp_path / "file").open("wb") as file:
        digest = write_snapshot(file, {"text": "\ud800 ü"}, sections)
    snapshot = read_snapshot(tmp_path / "file", digest)
    assert snapshot.metadata == {"text": "\ud800 ü"}
    for name, array in sections.items():
        assert snapshot.sections[name].dtype == array.dtype
        assert np.array_equal(snapshot.sections[name], array)
    with pytest.raises(SnapshotError, match="another"):
        read_snapshot(tmp_path / "file", bytes(16))


def test_concurrent_writers_leave_one_valid_file(store: SQLiteStore, path: Path) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", [Item("1", "Notes", {"title": "kiln"})])
    revision = store.revision("ana")
    problems: list[str] = []

    def write(number: int) -> None:
        with SQLiteStore(path) as own:
            for _ in range(5):
                own.snapshots.save("ana", "m", revision, {"by": number}, {"n": np.full(9999, number)})

    def read() -> None:
        with SQLiteStore(path) as own:
            for _ in range(20):
                snapshot = own.snapshots.load("ana", "m")
                if snapshot and set(snapshot.sections["n"].tolist()) != {snapshot.metadata["by"]}:
                    problems.append("mixed")

    threads = [Thread(target=write, args=(1,)), Thread(target=write, args=(2,)), Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert store.snapshots.load("ana", "m")
    assert len(list(store.snapshots.folder.iterdir())) == 1
    store.delete_items("ana", ["1"])
    assert not store.snapshots.folder.exists()


def test_file_left_by_an_ended_process_is_removed(store: SQLiteStore, path: Path) -> None:
    folder = store.snapshots.folder
    folder.mkdir()
    temporary, unknown, new = (folder / name for name in ("a.new-1", "b.snapshot", "c.new-2"))
    for file in (temporary, unknown, new):
        file.write_bytes(b"kiln")
    for file in (temporary, unknown):
        os.utime(file, (0, 0))
    store.put_user(User("ana"))
    assert store.snapshots.save("ana", "m", store.revision("ana"), {}, {"n": np.arange(3)})
    known = set(folder.iterdir()) - {temporary, unknown, new}
    for file in known:
        os.utime(file, (0, 0))
    with SQLiteStore(path):
        assert set(folder.iterdir()) == {new, *known}
