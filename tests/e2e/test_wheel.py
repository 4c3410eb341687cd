"""The two wheels: contents, size, and a base wheel that runs the README without the lab."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.paths import ROOT

import contextune

SOURCE = ROOT / "src" / "contextune"
LAB = ("contextune/lab/", "contextune/cli/lab/")
MEGABYTES_AT_MOST = 30


def build(project: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(project)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT / "packages" / "lab", tmp_path_factory.mktemp("lab"))


def names(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_base_wheel_is_small_and_has_no_lab(base: Path) -> None:
    assert base.stat().st_size <= MEGABYTES_AT_MOST * 1_000_000
    assert not [name for name in names(base) if name.startswith(LAB)]
    assert "contextune/py.typed" in names(base)


def test_both_wheels_together_have_every_file_once(base: Path, lab: Path) -> None:
    tracked = {
        file.relative_to(SOURCE.parent).as_posix()
        for file in SOURCE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert names(base) | names(lab) == tracked
    assert not names(base) & names(lab)
    assert all(name.startswith(LAB) for name in names(lab))


def test_wheels_have_the_version_of_the_package(base: Path, lab: Path) -> None:
    assert base.name.startswith(f"contextune-{contextune.__version__}-")
    assert lab.name.startswith(f"contextune_lab-{contextune.__version__}-")
    metadata = next(name for name in zipfile.ZipFile(lab).namelist() if name.endswith("/METADATA"))
    requirement = f"Requires-Dist: contextune=={contextune.__version__}"
    assert requirement in zipfile.ZipFile(lab).read(metadata).decode()


def test_base_wheel_runs_the_readme_and_names_what_is_missing(base: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(base).extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "CONTEXTUNE_STORE": "me.db"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    code = "\n".join(blocks) + "\nimport contextune; print(contextune.__file__)"
    readme = run("-c", code)
    assert readme.returncode == 0, readme.stderr
    assert readme.stdout.strip().startswith(str(tmp_path / "site"))

    bench = run("-c", "from contextune.cli import main; main()", "bench", "context")
    assert bench.returncode == 2
    assert "pip install contextune-lab" in bench.stderr
