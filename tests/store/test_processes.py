"""Concurrent threads and processes, forks, and killed processes."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from contextune.errors import StoreError
from contextune.store import SQLiteStore
from contextune.types import Item, User

LOADER = """
import sys
from contextune.store import SQLiteStore
from contextune.types import Item, User

path, name, batches, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with SQLiteStore(path) as store:
    store.put_user(User("shared"))
    for batch in range(batches):
        items = (Item(f"{name}-{batch:04}-{n:04}", "Notes", {"title": "x" * 200}) for n in range(size))
        store.put_items("shared", items)
        print(batch, flush=True)
"""


STUCK = """
import signal, sys
from contextune.store import SQLiteStore
from contextune.types import Item, User

def many():
    for number in range(2500):
        yield Item(f"late {number}", "Notes", {"title": "x" * 20_000})
    print("stuck", flush=True)
    signal.pause()

with SQLiteStore(sys.argv[1]) as store:
    store.put_user(User("shared"))
    store.put_items("shared", [Item("early", "Notes", {})])
    store.put_items("shared", many())
"""


def loader(path: Path, name: str, batches: int, size: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", LOADER, str(path), name, str(batches), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def check_integrity(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.parametrize("batches_read", [1, 4, 9])
def test_process_killed_between_calls(path: Path, batches_read: int) -> None:
    with loader(path, "a", batches=10_000, size=300) as child:
        assert child.stdout is not None
        announced = [int(child.stdout.readline()) for _ in range(batches_read)]
        os.kill(child.pid, signal.SIGKILL)
        announced += [int(line) for line in child.stdout.read().split()]
    assert child.returncode == -signal.SIGKILL
    with SQLiteStore(path) as store:
        ids = [item.id for item in store.items("shared")]
        batches = {name[:6] for name in ids}
        assert batches >= {f"a-{batch:04}" for batch in announced}
        assert len(ids) == 300 * len(batches)  # no partial batch
        assert store.revision("shared").items >= len(announced)
        store.put_items("shared", [Item("after", "Notes", {})])
    check_integrity(path)


def test_process_killed_within_a_call(path: Path) -> None:
    command = [sys.executable, "-c", STUCK, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "stuck\n"
        os.kill(child.pid, signal.SIGKILL)
    assert path.with_name("store.db-wal").stat().st_size > 1_000_000  # part of the call had reached the disk
    with SQLiteStore(path) as store:
        assert [item.id for item in store.items("shared")] == ["early"]
    check_integrity(path)


def test_two_processes_write_concurrently(path: Path) -> None:
    with loader(path, "a", 20, 100) as one, loader(path, "b", 20, 100) as two:
        assert (one.wait(), two.wait()) == (0, 0)
    with SQLiteStore(path) as store:
        assert len(store.items("shared")) == 4000
        assert store.revision("shared").items == 42  # two put_user and forty batches
    check_integrity(path)


def test_many_processes_create_the_same_store(path: Path) -> None:
    children = [loader(path, str(number), 1, 1) for number in range(6)]
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0] * 6
    with SQLiteStore(path) as store:
        assert len(store.items("shared")) == 6


def test_threads_share_a_store(store: SQLiteStore, path: Path) -> None:
    store.put_user(User("ana"))

    def work(worker: int) -> int:
        for number in range(20):
            store.put_items("ana", [Item(f"{worker}-{number}", "Notes", {})])
            assert f"{worker}-{number}" in {item.id for item in store.items("ana")}
        return worker

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(work, range(8))) == list(range(8))
    assert len(store.items("ana")) == 160
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]  # all connections are closed


def test_ended_threads_leave_no_open_files(store: SQLiteStore, tmp_path: Path) -> None:
    store_path = tmp_path.resolve()
    store.put_user(User("ana"))
    open_files = Path("/proc/self/fd")
    if not open_files.exists():
        pytest.skip("no /proc to count open files in")
    counts: list[int] = []
    for _ in range(50):
        thread = threading.Thread(target=store.users)
        thread.start()
        thread.join()
        counts.append(sum(_is_open(file, store_path) for file in open_files.iterdir()))
    assert counts[9] > 0
    assert counts[-1] <= counts[9] + 6  # a thread or two may have just ended


def _is_open(descriptor: Path, path: Path) -> bool:
    """Whether a descriptor of this process belongs to the file, or to its log."""
    try:
        return str(descriptor.readlink()).startswith(str(path))
    except OSError:  # closed meanwhile
        return False


def test_close_lets_a_running_call_finish(path: Path) -> None:
    store = SQLiteStore(path)
    store.put_user(User("ana"))
    started, closed = threading.Event(), threading.Event()

    def items() -> list[Item]:
        started.set()
        assert closed.wait(10)
        return [Item("1", "Notes", {})]

    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(lambda: store.put_items("ana", (item for part in [items] for item in part())))
        assert started.wait(10)
        store.close()
        closed.set()
        assert call.result() == 1
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]
    with SQLiteStore(path) as store:
        assert [item.id for item in store.items("ana")] == ["1"]


def test_endless_writer_times_out(path: Path) -> None:
    with (
        SQLiteStore(path, timeout=0.1) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        store.put_user(User("ana"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="longer timeout"):
            store.put_items("ana", [Item("1", "Notes", {})])
        assert store.items("ana") == []  # reads still work


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_process_opens_its_own_connection(store: SQLiteStore, path: Path) -> None:
    store.put_user(User("ana"))
    go_read, go_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            store.put_items("ana", [Item("child 1", "Notes", {})])
            os.read(go_read, 1)  # until the parent has closed the store
            store.put_items("ana", [Item("child 2", "Notes", {})])
            store.close()
            os._exit(0)
        finally:
            os._exit(1)
    store.put_items("ana", [Item("parent", "Notes", {})])
    store.close()  # must not remove the log that the child uses
    os.write(go_write, b"!")
    assert os.waitpid(child, 0)[1] == 0
    os.close(go_read)
    os.close(go_write)
    with SQLiteStore(path) as again:
        assert [item.id for item in again.items("ana")] == ["child 1", "child 2", "parent"]
    check_integrity(path)
