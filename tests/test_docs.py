"""Every example in README.md, CONTRIBUTING.md and docs/ runs, page by page, in a folder of its own."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
import typer
from tests.paths import ROOT
from tests.program import run

from contextune.cli import app

README = ROOT / "README.md"
PAGES = sorted([README, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [text for kind, text in found if kind == language]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


def with_examples(folder: Path) -> Path:
    """The folder with two personas and a world, which examples name."""
    (folder / "some-personas").mkdir()
    for persona in ("a01", "b05"):
        source = ROOT / "src/contextune/assets/personas" / f"{persona}.json"
        (folder / "some-personas" / source.name).write_bytes(source.read_bytes())
    world = "tests/lab/worlds/bakery"
    shutil.copytree(ROOT / world, folder / world)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The current folder of the examples."""
    return with_examples(tmp_path)


@pytest.fixture(scope="module")
def parsing_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The current folder of commands that are parsed and not run."""
    return with_examples(tmp_path_factory.mktemp("parsing"))


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


def test_readme_example_prints_what_it_says_in_a_new_process(folder: Path) -> None:
    code = "\n".join(blocks(README, "python"))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == blocks(README, "text")[0]


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


_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
_SHELL = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def slug(heading: str) -> str:
    """The anchor of a heading, as on the site and on GitHub."""
    text = re.sub(r"<!--.*?-->|\[([^\]]*)\]\([^)]*\)", r"\1", heading).casefold()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = _CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))
    return {slug(heading) for heading in _HEADING.findall(text)}


def links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", _CODE_BLOCK.sub("", page.read_text(encoding="utf-8")))
    return [link for link in _LINK.findall(text) if "://" not in link and not link.startswith("mailto:")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    dead: list[str] = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(link)
    assert not dead


def test_every_page_is_on_the_site_and_in_the_readme() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"- {page.name}" in site or f": {page.name}" in site, f"{page.name} is not in mkdocs.yml"
        assert f"docs/{page.name}" in readme, f"{page.name} is not in README.md"


def shell_lines(page: Path) -> list[str]:
    """The commands of all shell blocks, without comments and output; continued lines are joined."""
    text = "".join(_SHELL.findall(page.read_text(encoding="utf-8"))).replace("\\\n", " ")
    return [line.removeprefix("$ ").strip() for line in text.splitlines() if line.strip()]


def documented_commands() -> list[tuple[str, str]]:
    """Every documented `contextune …`, with its page."""
    return [
        (page.name, line)
        for page in PAGES
        for line in shell_lines(page)
        if shlex.split(line, comments=True)[:1] == ["contextune"]
    ]


def test_commands_need_no_checkout() -> None:
    """The pages for users name no path of the repository; those for research and contributors may."""
    for page in PAGES:
        if page.name not in (
            "CONTRIBUTING.md",
            "benchmarks.md",
            "benchmark-details.md",
            "papers.md",
            "experiments.md",
            "generate.md",
        ):
            assert not [line for line in shell_lines(page) if "src/" in line], page.name


@cache
def program_command() -> Any:
    """All commands; making them for each documented line would take a minute."""
    return typer.main.get_command(app)


@pytest.mark.parametrize(("page", "line"), documented_commands())
def test_documented_command_parses(page: str, line: str, parsing_folder: Path) -> None:
    """With the commands of the installed package: each name, option and argument exists; nothing is run."""
    words = shlex.split(line, comments=True)[1:]
    words = words[: next((n for n, word in enumerate(words) if word in ("|", ">", "&&", "&", ";")), None)]
    command = program_command()
    context = command.make_context("contextune", [], resilient_parsing=True)
    with chdir(parsing_folder):
        while words and hasattr(command, "resolve_command"):
            if words[0].startswith("-"):
                break
            name, command, words = command.resolve_command(context, words)
            context = command.make_context(name, [], parent=context, resilient_parsing=True)
        parser = command.make_parser(context)
        values, rest, _ = parser.parse_args(args=list(words))
    assert not rest, f"{page}: {line}: unknown arguments {rest}"
    assert set(values) <= {parameter.name for parameter in command.params} | {"help"}
