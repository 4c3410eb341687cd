"""Help, version and completion import no heavy library: the start-up time of the program."""

import os
import subprocess
import sys

import pytest
from tests.program import run

from contextune.cli import COMMANDS, groups
from contextune.cli.groups import help_line, load_command

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


@pytest.mark.parametrize("command", ["answer", "bench", "train", "generate"])
def test_lab_commands_name_the_missing_package(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(groups, "find_spec", find_nothing)
    done = run(command, "--help")
    assert done.returncode == 2
    line = f"error: contextune {command} needs the research package: pip install contextune-lab\n"
    assert done.stderr == line
