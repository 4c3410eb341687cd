"""Help, version and completion import no heavy library: the start-up time of the program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.program import run

from contextune.cli import COMMANDS, groups
from contextune.cli.groups import ResearchCommand, help_line, installed_commands, load_command

RESEARCH = [name for name, command in COMMANDS.items() if isinstance(command, ResearchCommand)]
HEAVY = {"lightgbm", "numpy", "onnxruntime", "pydantic", "rich", "scipy", "tokenizers", "yaml"}
LIBRARIES_OF_HELP = {"pydantic", "rich"}
"""Typer imports them for completion and for the options of a command; tables need rich too."""
_CODE = """
import sys
from contextune.cli import main

for line in sys.argv[1:]:
    sys.argv = ["contextune", *line.split()]
    try:
        main()
    except SystemExit:
        pass
    print(line, *sys.modules, file=sys.stderr)
"""


def run_lines(*lines: str, **env: str) -> tuple[str, dict[str, set[str]]]:
    """Run command lines in one new process: the output, and after each line the modules loaded so far."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, *lines], capture_output=True, text=True, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stderr
    loaded = done.stderr.splitlines()
    return done.stdout, {
        line: set(modules.removeprefix(line).split()) for line, modules in zip(lines, loaded, strict=True)
    }


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_import_only_the_command_line(option: str) -> None:
    _, loaded = run_lines(option)
    assert not HEAVY & loaded[option]
    assert {name for name in loaded[option] if name.startswith("contextune")} == {
        "contextune",
        "contextune.cli",
        "contextune.cli.groups",
        "contextune.errors",
    }


def test_completion_of_command_names_imports_no_command() -> None:
    env = {"_CONTEXTUNE_COMPLETE": "complete_bash", "COMP_WORDS": "contextune se", "COMP_CWORD": "1"}
    printed, loaded = run_lines("", **env)
    assert printed.split() == ["search", "serve"]
    assert not (HEAVY - LIBRARIES_OF_HELP) & loaded[""]
    assert "contextune.cli.ask" not in loaded[""]


def test_help_of_commands_imports_no_models() -> None:
    _, loaded = run_lines(*(f"{command} --help" for command in COMMANDS))
    for modules in loaded.values():
        assert not (HEAVY - LIBRARIES_OF_HELP) & modules


@pytest.mark.parametrize("name", COMMANDS)
def test_help_line_in_the_table_is_the_help_of_the_command(name: str) -> None:
    assert COMMANDS[name].help == help_line(load_command(name, COMMANDS[name]))


@pytest.mark.parametrize("command", RESEARCH)
def test_research_commands_name_the_missing_package(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "ENTRY_POINTS", "contextune.no_commands")
    done = run(command, "--help")
    assert done.returncode == 2
    start = f"error: contextune {command} needs the research package: pip install contextune-lab "
    assert done.stderr == f"{start}(in a checkout: pip install -e packages/lab)\n"


def test_research_commands_are_the_entry_points_of_the_lab() -> None:
    assert set(RESEARCH) == {"answer", "bench", "generate", "lab", "train"}
    assert set(RESEARCH) <= set(installed_commands()), "install it: pip install --no-deps -e packages/lab"


def test_lab_group_runs_the_research_commands() -> None:
    done = run("lab", "bench", "speed", "--help")
    assert done.returncode == 0, done.stderr
    assert "contextune lab bench speed [OPTIONS]" in done.stdout


def test_commands_of_other_distributions_run_and_are_in_the_help(tmp_path: Path) -> None:
    (tmp_path / "greeting.py").write_text(
        'def greet(name: str) -> None:\n    """Greet someone."""\n    print("Hello", name)\n'
    )
    metadata = tmp_path / "greeting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[contextune.commands]\ngreet = greeting:greet\n")
    printed, _ = run_lines("greet Ines", "--help", PYTHONPATH=str(tmp_path))
    assert printed.startswith("Hello Ines\n")
    assert printed.endswith("Commands of other packages:\n  greet  Greet someone.\n")
