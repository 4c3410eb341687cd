"""Every example in README.md, CONTRIBUTING.md and docs/ runs, page by page, in a folder of its own."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from tests.paths import ROOT
from tests.program import run

README = ROOT / "README.md"
PAGES = sorted([README, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [text for kind, text in found if kind == language]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The current folder of the examples, with two personas instead of all bundled ones."""
    for name in ("src/contextune/assets/personas", "some-personas"):
        (tmp_path / name).mkdir(parents=True)
        for persona in ("a01", "b05"):
            source = ROOT / "src/contextune/assets/personas" / f"{persona}.json"
            (tmp_path / name / source.name).write_bytes(source.read_bytes())
    world = "tests/lab/worlds/bakery"
    shutil.copytree(ROOT / world, tmp_path / world)
    return tmp_path


@pytest.mark.parametrize(
    "page", [page for page in pages_with("python") if page != README], ids=lambda page: page.name
)
def test_python_examples_run(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, which loads each model only once."""
    module = ModuleType(f"example_{page.stem}")
    code = compile("\n".join(blocks(page, "python")), page.name, "exec")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with chdir(folder), patch.dict(os.environ):
        exec(code, module.__dict__)


def test_readme_example_runs_in_a_new_process(folder: Path) -> None:
    code = "\n".join(blocks(README, "python"))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", pages_with("console"), ids=lambda page: page.name)
def test_commands_run(page: Path, folder: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in "".join(blocks(page, "console")).splitlines():
        program, *words = shlex.split(line.removeprefix("$ "))
        if program == "make":  # the targets run the tests, so only check that they exist
            assert f"\n{words[0]}:" in makefile, f"the Makefile has no target {words[0]!r}"
            continue
        assert program == "contextune", line
        done = run(*words, cwd=folder)
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_pages_have_examples() -> None:
    assert sum(len(blocks(page, language)) for page in PAGES for language in ("python", "console")) >= 8


def test_figures_exist_and_are_small() -> None:
    for page in PAGES:
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in name:
                assert 0 < (page.parent / name).stat().st_size < 100_000, f"{page.name}: {name}"
