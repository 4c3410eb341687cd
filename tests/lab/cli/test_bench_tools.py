"""`contextune train tools` and the benchmarks of tools."""

import json
from pathlib import Path

import pytest
from tests.lab.train.tiny_tools import world
from tests.program import run

from contextune_lab.bench.results_file import BenchResults


@pytest.mark.parametrize("option", [("--public", "data"), ("--vectors", "public.npz")])
@pytest.mark.parametrize(
    "command", [("train", "tools", "--out", "made"), ("bench", "doubts"), ("bench", "tools")]
)
def test_public_and_vectors_must_be_given_together(
    tmp_path: Path, command: tuple[str, ...], option: tuple[str, ...]
) -> None:
    world(tmp_path / "data")
    done = run(*command, *option, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("error: --public and --vectors go together")
    assert done.stdout == ""
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("command", [("train", "tools", "--out", "made"), ("bench", "doubts")])
def test_missing_folder_is_reported_before_training(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run(*command, "--public", "nowhere", "--vectors", "nowhere.npz", cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "nowhere" in line
    assert "cannot be read" in line


def test_bench_catalogues_writes_a_table_per_catalogue(tmp_path: Path) -> None:
    world(tmp_path / "data")
    done = run("bench", "catalogues", "--public", "data", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for title in ("in-domain", "out-of-domain", "ToolLens", "MetaTool", "BM25T", "learned"):
        assert title in done.stdout
    folders = ["MetaTool", "ToolBench-filter,-in-domain", "ToolBench-filter,-out-of-domain", "ToolLens"]
    out = tmp_path / "out" / "catalogues"
    assert sorted(folder.name for folder in out.iterdir()) == folders
    for folder in folders:
        assert json.loads((out / folder / "results.json").read_text(encoding="utf-8"))
    values = BenchResults.read(tmp_path / "out" / "results.json").values()
    assert 0 <= values["catalogues/ToolLens/learned/Recall@5"] <= 100


def test_missing_catalogues_are_an_error(tmp_path: Path) -> None:
    done = run("bench", "catalogues", "--public", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot be read" in done.stderr.splitlines()[-1]
