"""`contextune train tools` and the benchmarks of tools, driven as a person would."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lab.train.tiny_tools import world

PROGRAM = Path(sys.executable).with_name("contextune")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """In a folder; a minute is enough, as what is refused is refused before anything long begins."""
    env = {"COLUMNS": "160"}
    return subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True, env=env, timeout=60)


@pytest.mark.parametrize("given", [("--public", "data"), ("--vectors", "public.npz")])
@pytest.mark.parametrize(
    "command", [("train", "tools", "--out", "made"), ("bench", "doubts"), ("bench", "tools")]
)
def test_texts_and_vectors_go_together(
    tmp_path: Path, command: tuple[str, ...], given: tuple[str, ...]
) -> None:
    world(tmp_path / "data")
    done = run(tmp_path, *command, *given)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("error: --public and --vectors go together")
    assert done.stdout == ""
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("command", [("train", "tools", "--out", "made"), ("bench", "doubts")])
def test_a_folder_that_is_not_there_is_told_at_once(tmp_path: Path, command: tuple[str, ...]) -> None:
    """And not after minutes of work on the personas."""
    done = run(tmp_path, *command, "--public", "nowhere", "--vectors", "nowhere.npz")
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "nowhere" in line
    assert "cannot be read" in line


def test_catalogues_are_measured(tmp_path: Path) -> None:
    world(tmp_path / "data")
    done = run(tmp_path, "bench", "catalogues", "--public", "data", "--out", "out")
    assert done.returncode == 0, done.stderr
    for title in ("in-domain", "out-of-domain", "ToolLens", "MetaTool", "BM25T", "learned"):
        assert title in done.stdout
    folders = ["MetaTool", "ToolBench-filter,-in-domain", "ToolBench-filter,-out-of-domain", "ToolLens"]
    assert sorted(folder.name for folder in (tmp_path / "out").iterdir()) == folders
    for folder in folders:
        assert json.loads((tmp_path / "out" / folder / "results.json").read_text(encoding="utf-8"))


def test_catalogues_that_are_not_there(tmp_path: Path) -> None:
    done = run(tmp_path, "bench", "catalogues", "--public", "nowhere")
    assert done.returncode == 2
    assert "cannot be read" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
