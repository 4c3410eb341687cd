"""Run operations of a store over a disk that fails at every call in turn; started by test_faulty_disk.py.

An operation that succeeds is acknowledged by its name. After a fault, the store opens with everything that
was acknowledged, each operation is there completely or not at all, and the files are sound.
"""

import ctypes
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from contextune.errors import ErasureIncompleteError, StoreError
from contextune.store import SQLiteStore
from contextune.store.verify import verify
from contextune.types import Item, User

BATCH = 8
LARGE = 3000
"""Characters of an item: a batch takes several pages."""

shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
shim.fault_arm.argtypes = (ctypes.c_long, ctypes.c_int)
shim.fault_calls.restype = ctypes.c_long


def batch(number: int) -> list[Item]:
    return [Item(f"{number}-{part}", "Notes", {"title": "x" * LARGE}) for part in range(BATCH)]


def operations(store: SQLiteStore) -> list[tuple[str, Callable[[], object]]]:
    """Operations on user "ana", each with its name."""
    return [
        ("put 1", lambda: store.put_items("ana", batch(1))),
        ("put 2", lambda: store.put_items("ana", batch(2)[:2])),
        ("delete 0", lambda: store.delete_items("ana", [item.id for item in batch(0)])),
        ("put 3", lambda: store.put_items("ana", batch(3))),
        ("forget rui", lambda: store.forget("rui")),
        ("put 4", lambda: store.put_items("ana", batch(4)[:1])),
    ]


def prepare(path: Path) -> None:
    with SQLiteStore(path) as store:
        for user in ("ana", "rui"):
            store.put_user(User(user))
            store.put_items(user, batch(0))


def run(path: Path, acknowledged: int) -> None:
    """Run all operations, and write the names of those that succeed."""
    try:
        with SQLiteStore(path, timeout=1) as store:
            for name, operation in operations(store):
                try:
                    operation()
                except ErasureIncompleteError:
                    pass
                except StoreError:
                    continue
                os.write(acknowledged, f"{name}\n".encode())
    except StoreError:
        pass


def check(path: Path, acknowledged: set[str]) -> None:
    with SQLiteStore(path) as store:
        ids = {item.id for item in store.items("ana")}
        present = {
            "put 1": {item.id for item in batch(1)},
            "put 2": {item.id for item in batch(2)[:2]},
            "put 3": {item.id for item in batch(3)},
            "put 4": {item.id for item in batch(4)[:1]},
        }
        for name, expected in present.items():
            assert expected <= ids or (name not in acknowledged and not expected & ids), name
        old = {item.id for item in batch(0)}
        assert not old & ids or ("delete 0" not in acknowledged and old <= ids)
        assert ("rui" not in store.users()) or "forget rui" not in acknowledged
    assert verify(path).problems == ()


def attempt(folder: Path, number: int, kind: int) -> int:
    """Run the operations with a fault at this call; the number of calls, or 0 if the fault happened."""
    path = folder / "store.db"
    for file in folder.glob("store.db*"):
        file.unlink()
    shutil.copyfile(folder / "prepared", path)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        shim.fault_arm(number, kind)
        run(path, writer)
        calls = shim.fault_calls()
        os.write(writer, f"calls {calls}\n".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        acknowledged = set(lines.read().splitlines())
    os.waitpid(child, 0)
    try:
        check(path, acknowledged)
    except (AssertionError, StoreError) as error:
        raise SystemExit(f"kind {kind}, call {number}, after {sorted(acknowledged)}: {error!r}") from error
    calls = next((int(line.split()[1]) for line in acknowledged if line.startswith("calls")), number)
    return calls if calls < number else 0


def main(folder: Path, kind: int, step: int) -> None:
    folder.mkdir()
    prepare(folder / "prepared")
    number = 1
    while not attempt(folder, number, kind):
        number += step
    sys.stdout.write(f"{number}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
