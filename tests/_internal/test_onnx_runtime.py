"""Running a model tells nobody."""

import os
import subprocess
import sys
from pathlib import Path

SILENT = ("GITHUB_ACTIONS", "CIRCLECI", "TF_BUILD", "CI", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS")
"""Where one of these is set, the library keeps quiet by itself, and the test would show nothing."""
CODE = "from contextune.embed import default_embedder; default_embedder().embed(['a word'])"


def test_nothing_is_kept_to_be_sent(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name not in SILENT}
    env |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
