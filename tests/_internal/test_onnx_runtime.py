"""onnxruntime sends no telemetry."""

import os
import subprocess
import sys
from pathlib import Path

OPT_OUTS = (
    "GITHUB_ACTIONS",
    "CIRCLECI",
    "TF_BUILD",
    "CI",
    "ORT_DISABLE_TELEMETRY",
    "ORT_RUNNING_UNIT_TESTS",
)
"""Variables that disable telemetry by themselves: with one set, the test would prove nothing."""
CODE = "from contextune.embed import default_embedder; default_embedder().embed(['a word'])"


def test_no_telemetry_is_queued(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name not in OPT_OUTS}
    env |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
