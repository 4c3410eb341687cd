"""`contextune bench all` runs every benchmark and continues after a failure."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contextune.cli.lab import bench
from contextune.errors import MissingExtraError


def needed(command: Callable[..., object]) -> list[str]:
    """The required options of a command."""
    parameters = inspect.signature(command).parameters.items()
    return [name for name, parameter in parameters if parameter.default is inspect.Parameter.empty]


def test_all_runs_every_benchmark_without_required_options() -> None:
    commands = [command.callback for command in bench.app.registered_commands if command.callback]
    alone = {command.__name__ for command in commands if not needed(command)}
    assert {run.__name__ for run in bench.ALONE} == alone - {"everything"}
    public = {command.__name__ for command in commands if needed(command) == ["public"]}
    assert {run.__name__ for run in bench.PUBLIC} == public


def test_failing_benchmark_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def first() -> None:
        raise MissingExtraError("this", "plot")

    def second() -> None:
        ran.append("second")

    def third(folder: Path) -> None:
        ran.append(str(folder))

    monkeypatch.setattr(bench, "ALONE", (first, second))
    monkeypatch.setattr(bench, "PUBLIC", (third,))
    done = CliRunner().invoke(bench.app, ["all", "--public", "catalogues"])
    assert (done.exit_code, ran) == (0, ["second", "catalogues"])
    assert "contextune[plot]" in done.output
