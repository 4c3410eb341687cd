"""The store over a disk whose n-th write, truncation or sync fails, tears a page or ends the process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
COMPILER = shutil.which("cc")
STEP = os.environ.get("CONTEXTUNE_FAULT_STEP", "7")
"""Only every n-th call fails in turn; 1 takes minutes."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler")
    path = tmp_path_factory.mktemp("library") / "faulty_disk.so"
    source = FOLDER / "faulty_disk.c"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", path, source, "-ldl"], check=True)
    return path


@pytest.mark.parametrize("kind", [0, 1, 2, 3], ids=["error", "full disk", "torn page", "crash"])
def test_what_was_acknowledged_survives(library: Path, tmp_path: Path, kind: int) -> None:
    command = [sys.executable, FOLDER / "faulty_disk.py", tmp_path / "store", str(kind), STEP]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "LD_PRELOAD": str(library)}
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50  # so many calls failed in turn
