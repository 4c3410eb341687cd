"""The results file: values by path, merging, the same bytes for the same results."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from tests.paths import ROOT

from contextune.errors import InvalidDataError
from contextune.evaluate.results import evaluate_runs
from contextune_lab.bench.bench_tables import kind_table, metric_table
from contextune_lab.bench.environment import measured_with
from contextune_lab.bench.results_file import BenchResults, BenchTable, Cell, Row
from contextune_lab.cli.bench.recording import record

TABLE = BenchTable(
    "tools",
    "contextune bench tools",
    ["Recall@1", "cases"],
    [
        Row("ToolLens (1,877)"),
        Row("learned", [Cell(84.76543, 1.9, significant=True, published=81.27), Cell(1877)], emphasis=True),
        Row("BM25T", [None, Cell(12)]),
    ],
    [1, 0],
    corner="method",
)


def test_values_have_paths() -> None:
    assert dict(TABLE.values()) == {
        "tools/ToolLens/learned/Recall@1": 84.76543,
        "tools/ToolLens/learned/Recall@1/±": 1.9,
        "tools/ToolLens/learned/Recall@1/published": 81.27,
        "tools/ToolLens/learned/cases": 1877,
        "tools/ToolLens/BM25T/cases": 12,
    }


def test_file_keeps_everything_to_four_decimals(tmp_path: Path) -> None:
    results = BenchResults({"cores": 2})
    results.add("quality", [TABLE], {"habits/mornings": 10})
    results.add("speed", [], {"speed/ms": 12.345678})
    results.write(tmp_path / "one.json")
    again = BenchResults.read(tmp_path / "one.json")
    again.write(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert again.values()["tools/ToolLens/learned/Recall@1"] == 84.7654
    assert again.values()["speed/ms"] == 12.3457
    table = again.table("tools")
    assert (table.corner, table.digits, table.command) == ("method", [1, 0], "contextune bench tools")
    assert [row.emphasis for row in table.rows] == [False, True, False]


def test_recording_merges_by_table(tmp_path: Path) -> None:
    other = BenchTable("plan", "contextune bench plan", ["AST"], [Row("all", [Cell(1.0)])])
    record(tmp_path, TABLE, other)
    record(tmp_path, BenchTable("plan", "contextune bench plan", ["AST"], [Row("all", [Cell(2.0)])]))
    record(tmp_path, facts={"speed/ms": 3.0}, part="speed")
    results = BenchResults.read(tmp_path / "results.json")
    assert set(results.tables["quality"]) == {"tools", "plan"}
    assert results.values()["plan/all/AST"] == 2.0
    content = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert content["speed"]["facts"] == {"speed/ms": 3.0}
    assert "speed/ms" not in content["quality"]["facts"]


def test_recorded_tables_say_what_they_were_measured_with(tmp_path: Path) -> None:
    record(tmp_path, TABLE, replace(TABLE, id="other", made_with="paper and pencil"))
    results = BenchResults.read(tmp_path / "results.json")
    assert results.table("tools").made_with == measured_with()
    models = (ROOT / "src/contextune/assets/SHA256SUMS").read_bytes()
    assert f"models {sha256(models).hexdigest()[:8]}" in measured_with()
    assert results.table("other").made_with == "paper and pencil"


def test_order_of_the_benchmarks_does_not_matter(tmp_path: Path) -> None:
    other = BenchTable("plan", "contextune bench plan", ["AST"], [Row("all", [Cell(1.0)])])
    record(tmp_path / "a", TABLE)
    record(tmp_path / "a", other)
    record(tmp_path / "b", other)
    record(tmp_path / "b", TABLE)
    assert (tmp_path / "a/results.json").read_bytes() == (tmp_path / "b/results.json").read_bytes()


def test_other_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text('{"queries": 3}', encoding="utf-8")
    with pytest.raises(InvalidDataError, match="not a file of benchmark results"):
        record(tmp_path, TABLE)
    assert file.read_text(encoding="utf-8") == '{"queries": 3}'


def test_infinite_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="finite"):
        record(tmp_path, facts={"speed/ms": float("inf")})


@pytest.mark.parametrize("name", ["items/s", "a|b", "a --> b"])
def test_names_that_break_a_path_or_a_page_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="may not contain"):
        BenchTable("store", "contextune bench store", [name], [])


def test_unknown_table_names_the_known_ones() -> None:
    results = BenchResults()
    results.add("quality", [TABLE])
    with pytest.raises(InvalidDataError, match="no table 'plan' in the results; there are tools"):
        results.table("plan")


def test_result_tables_become_columns_of_metrics_and_of_kinds() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(4)}
    runs = {"low": {name: ["b", "a"] for name in qrels}, "high": {name: ["a"] for name in qrels}}
    table = evaluate_runs(
        runs,
        qrels,
        ["recall@1", "mrr"],
        kinds={name: "habit" if name < "q2" else "place" for name in qrels},
        baseline="high",
        reference={"high": {"recall@1": 0.9}, "theirs": {"mrr": 0.5}},
    )
    overall = metric_table("t", "command", {"Part": table}, intervals=["mrr"], emphasis="high")
    assert overall.columns == ["Recall@1", "MRR"]
    assert [row.name for row in overall.rows] == ["Part (4)", "low", "high", "theirs"]
    high, theirs = overall.rows[2:]
    assert high.cells[0] == Cell(100, published=90)
    assert high.emphasis
    assert theirs.cells == [None, Cell(None, published=50)]
    assert overall.rows[1].cells[1] == Cell(50, 0, significant=False)
    by_kind = kind_table("t", "command", table, "mrr")
    assert (by_kind.columns, by_kind.corner) == (("habit", "place"), "MRR")
    assert by_kind.rows[0].cells == [Cell(50), Cell(50)]


def test_merging_keeps_the_note_about_other_tables(tmp_path: Path) -> None:
    BenchResults({"note": "taken over"}).write(tmp_path / "results.json")
    record(tmp_path, TABLE)
    environment = BenchResults.read(tmp_path / "results.json").environment
    assert environment["note"] == "taken over"
    assert environment["cores"] >= 1


def test_merging_into_results_of_another_machine_is_noted(tmp_path: Path) -> None:
    record(tmp_path / "same", TABLE)
    record(tmp_path / "same", TABLE)
    assert "note" not in BenchResults.read(tmp_path / "same/results.json").environment
    BenchResults({"processor": "another"}).write(tmp_path / "results.json")
    record(tmp_path, TABLE)
    assert "another environment" in BenchResults.read(tmp_path / "results.json").environment["note"]
