"""`contextune bench all` runs every benchmark and continues after a failure."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from contextune.cli.lab import bench
from contextune.cli.lab.bench import everything
from contextune.cli.lab.bench.recording import record
from contextune.errors import MissingExtraError
from contextune.lab.bench.results_file import BenchResults, BenchTable, Cell, Row


def test_all_runs_every_command(tmp_path: Path) -> None:
    commands = {
        command.name or command.callback.__name__
        for command in bench.app.registered_commands
        if command.callback
    }
    everything_given = everything.benchmarks(tmp_path, tmp_path, tmp_path, tmp_path)
    others = {
        "all",
        "docs",
        "figures",
        "cluster",
        "growth",
    }  # no tables of the docs, or a cluster of their own
    assert {name for name, _ in everything_given} == commands - others


def test_benchmarks_without_their_data_are_left_out() -> None:
    names = {name for name, _ in everything.benchmarks(None, None, None, None)}
    assert {"context", "tools", "plan", "speed"} <= names
    assert not names & {"history", "catalogues", "querygen", "scale"}


def test_timings_come_last(tmp_path: Path) -> None:
    names = [name for name, _ in everything.benchmarks(tmp_path, tmp_path, tmp_path, tmp_path)]
    assert names.index("speed") > max(
        names.index(name) for name in ("context", "plan", "querygen", "history")
    )


def test_failing_benchmarks_do_not_stop_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_extra() -> None:
        raise MissingExtraError("this", "plot")

    def broken() -> None:
        raise KeyError("recall")

    def works() -> None:
        table = BenchTable("works", "contextune bench works", ["Recall@3"], [Row("all", [Cell(84.75)])])
        record(tmp_path, table)

    def three(*_folders: Path | None) -> list[everything.Benchmark]:
        return [("first", no_extra), ("second", broken), ("third", works)]

    monkeypatch.setattr(everything, "benchmarks", three)
    done = CliRunner().invoke(bench.app, ["all", "--out", str(tmp_path), "--date", "2024-05-16"])
    assert done.exit_code == 1
    assert "contextune[plot]" in done.output
    assert "second: KeyError" in done.output
    assert "2 benchmarks failed: first, second" in done.output
    results = BenchResults.read(tmp_path / "results.json")
    assert results.values() == {"works/all/Recall@3": 84.75}
    assert results.environment["date"] == "2024-05-16"
