"""Every example in README and docs is run, in order, in a folder of its own."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = Path(sys.executable).with_name("contextune")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where examples run: three personas stand for the bundled ones, so that a page takes seconds."""
    names = ("src/contextune/assets/personas", "some-personas")
    for name in names:
        (tmp_path / name).mkdir(parents=True)
        for persona in ("a01", "b05"):
            source = ROOT / "src/contextune/assets/personas" / f"{persona}.json"
            (tmp_path / name / source.name).write_bytes(source.read_bytes())
    return tmp_path


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_examples_run(page: Path, folder: Path) -> None:
    code = "\n".join(text for kind, text in blocks(page) if kind == "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_run(page: Path, folder: Path) -> None:
    for kind, text in blocks(page):
        if kind != "console":
            continue
        for line in text.splitlines():
            words = shlex.split(line.removeprefix("$ "))
            if words[0] == "make":  # the tests are run by it
                assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(), f"there is no {line}"
                continue
            assert words[0] == "contextune", line
            done = subprocess.run([PROGRAM, *words[1:]], cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_there_are_examples() -> None:
    assert sum(len(blocks(page)) for page in PAGES) >= 8
