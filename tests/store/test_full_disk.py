"""On a full disk, data can be deleted. Needs Linux and the right to mount a small disk of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contextune.store.full_disk import DiskReserve

_SCRIPT = """
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from contextune.errors import ErasureIncompleteError, StoreError
from contextune.store import SQLiteStore, text_digest
from contextune.types import Item, UsageEvent, User

folder = Path(sys.argv[1])
store = SQLiteStore(folder / "store.db")
items = [Item(str(n), "Notes", {"title": f"Zaunkönig {n} " * 300}) for n in range(400)]
uses = [UsageEvent(str(n % 5), datetime(2024, 5, 1 + n % 28, n % 24, n % 60)) for n in range(5000)]
vector = np.ones(384, np.float32)
for user in ("ana", "rui"):
    store.put_user(User(user))
    store.put_items(user, items)
    store.put_uses(user, uses)
    store.put_vectors(user, "m", {text_digest(item.text): vector for item in items})
    store.put_enriched_vectors(user, "m", {item.id: (b"digest", vector) for item in items})

def fill_disk():
    with (folder / "filler").open("ab", buffering=0) as filler:
        for size in (2**20, 4096, 1):
            try:
                while filler.write(bytes(size)):
                    pass
            except OSError:
                pass

def check_full():
    with pytest.raises(StoreError, match="disk is full"):
        store.put_items("rui", (Item(f"new {n}", "Notes", {"title": "x" * 2000}) for n in range(99999)))

def traces():
    return [file.name for file in folder.glob("store.db*") if b"Zaunk" in file.read_bytes()]

kept = store.uses("rui")
store._connections.close_idle()  # the log is removed
store.users()
fill_disk()
check_full()
assert store.delete_items("ana", [item.id for item in items[:200]]) == 200
assert len(store.items("ana")) == 200 and store.uses("ana") == []
fill_disk()
check_full()
with pytest.raises(ErasureIncompleteError, match="rows .* are deleted"):
    store.forget("ana")  # rewriting needs as much space as the others have stored
assert store.users() == ["rui"]
assert len(store.items("rui")) == 400 and store.uses("rui") == kept
fill_disk()
store.forget("rui")  # the last user: rewriting needs no space
assert store.users() == [] and traces() == []
print("done", flush=True)
"""


def on_small_disk(folder: Path, megabytes: int, script: str) -> str:
    """Output of a script with its folder on a disk of this size; skips where none can be mounted."""
    mount = f'mount -t tmpfs -o size={megabytes}m tmpfs "$0" && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", mount, str(folder), sys.executable, "-c", script, str(folder)]
    try:
        probe = ["unshare", "-rm", "sh", "-c", mount, str(folder), "true"]
        if subprocess.run(probe, capture_output=True).returncode:
            pytest.skip("cannot mount a disk")
    except FileNotFoundError:
        pytest.skip("no unshare")
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(folder)})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_items_and_users_can_be_deleted(tmp_path: Path) -> None:
    assert "done" in on_small_disk(tmp_path, 40, _SCRIPT)


def test_reserve_occupies_space_and_gives_it_back(tmp_path: Path) -> None:
    reserve = DiskReserve(tmp_path, 2**20)
    descriptor = reserve._file  # pyright: ignore[reportPrivateUsage]
    assert descriptor is not None
    assert os.fstat(descriptor.fileno()).st_blocks * 512 >= 2**20
    assert list(tmp_path.iterdir()) == []
    with reserve.released():
        assert descriptor.closed
    reserve.release()
    assert reserve._file is None  # pyright: ignore[reportPrivateUsage]
