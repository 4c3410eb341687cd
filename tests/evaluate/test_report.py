"""Terminal tables, and JSON, CSV and TREC files."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from contextune.errors import InvalidDataError
from contextune.evaluate.report import table_to_json, to_rich, write_report
from contextune.evaluate.results import ResultTable, evaluate_runs

QUERIES = [f"q{number:02}" for number in range(40)]
QRELS = {query: {"right": 2, "no": 0} for query in QUERIES}
GOOD = {query: ["right", "wrong"] for query in QUERIES}
BAD = {query: ["wrong", "right"] if number % 8 else ["right"] for number, query in enumerate(QUERIES)}
KINDS = {query: "habit" if number < 10 else "place [home]" for number, query in enumerate(QUERIES)}


@pytest.fixture(scope="module")
def table() -> ResultTable:
    return evaluate_runs(
        {"BM25 [raw]": BAD, "Ours": GOOD},
        QRELS,
        ["hit@1", "mrr"],
        kinds=KINDS,
        baseline="BM25 [raw]",
        reference={"BM25 [raw]": {"hit@1": 0.3456}, "GPT-4": {"mrr": 0.789}},
    )


def rendered(tables: list[Any]) -> str:
    console = Console(width=200, file=io.StringIO())
    for rich in tables:
        console.print(rich)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def lines_of(text: str, name: str) -> list[list[str]]:
    """The cells of the table lines that begin with `name`."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines()]
    return [row for row in rows if row and row[0] == name]


def test_overall_table_shows_means_intervals_significance_and_published_values(table: ResultTable) -> None:
    overall = rendered(to_rich(table)[:1])
    intervals = [table.cell("BM25 [raw]", name).interval for name in ("hit@1", "mrr")]
    halves = [f"{50 * (interval.high - interval.low):.1f}" for interval in intervals]
    assert lines_of(overall, "BM25 [raw]") == [
        ["BM25 [raw]", f"12.5 ±{halves[0]} (34.6)", f"56.2 ±{halves[1]}"]
    ]
    assert lines_of(overall, "Ours") == [["Ours", "100.0 ±0.0 †", "100.0 ±0.0 †"]]
    assert lines_of(overall, "GPT-4") == [["GPT-4", "", "(78.9)"]]
    assert "Hit@1" in overall
    assert "All queries (n = 40)" in overall
    assert "† p < 0.05 against BM25 [raw]" in overall
    assert "as published" in overall


def test_table_by_kind_shows_one_metric(table: ResultTable) -> None:
    first, chosen = rendered(to_rich(table)[1:]), rendered(to_rich(table, by_kind="mrr")[1:])
    assert "Hit@1 by kind of query" in first
    assert "habit (n = 10)" in first
    assert "place [home] (n = 30)" in first
    assert lines_of(first, "BM25 [raw]") == [["BM25 [raw]", "20.0", "10.0"]]
    assert "MRR by kind of query" in chosen
    assert lines_of(chosen, "BM25 [raw]") == [["BM25 [raw]", "60.0", "55.0"]]


def test_table_without_kinds_baseline_and_reference() -> None:
    tables = to_rich(evaluate_runs({"bad": BAD, "good": GOOD}, QRELS, ["mrr"]))
    text = rendered(tables)
    assert len(tables) == 1
    assert "†" not in text
    assert "published" not in text


def test_insignificant_difference_has_no_mark() -> None:
    other = {**BAD, "q01": ["right"]}
    text = rendered(to_rich(evaluate_runs({"bad": BAD, "other": other}, QRELS, ["hit@1"], baseline="bad")))
    assert lines_of(text, "other")[0][1].startswith("15.0 ±")
    assert not lines_of(text, "other")[0][1].endswith("†")


def test_single_query_has_no_interval(tmp_path: Path) -> None:
    table = evaluate_runs({"one": {"q": ["right"]}}, {"q": {"right": 1}}, ["mrr"])
    assert lines_of(rendered(to_rich(table)), "one") == [["one", "100.0"]]
    write_report(table, tmp_path)
    (row,) = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert row["results"]["mrr"]["all"] == {"n": 1, "mean": 1.0, "low": None, "high": None, "p": None}
    assert (tmp_path / "results.csv").read_text().splitlines()[1] == "one,mrr,all,1,1.0,,,"


def test_by_kind_must_be_measured(table: ResultTable) -> None:
    with pytest.raises(ValueError, match="'map' is not measured: use one of hit@1, mrr"):
        to_rich(table, by_kind="map")


def test_json_has_every_cell(table: ResultTable, tmp_path: Path) -> None:
    write_report(table, tmp_path / "deep" / "folder")
    read = json.loads((tmp_path / "deep" / "folder" / "results.json").read_text(encoding="utf-8"))
    assert read == table_to_json(table)
    assert read["baseline"] == "BM25 [raw]"
    assert read["queries"] == 40
    assert read["reference"] == {"BM25 [raw]": {"hit@1": 0.3456}, "GPT-4": {"mrr": 0.789}}
    ours = read["rows"][1]
    assert (ours["name"], ours["run"]) == ("Ours", "ours.run")
    cell = table.cell("Ours", "mrr", "habit")
    assert ours["results"]["mrr"]["habit"] == {
        "n": 10,
        "mean": 1.0,
        "low": cell.interval.low,
        "high": cell.interval.high,
        "p": cell.p,
    }


def test_csv_is_tidy_and_exact(table: ResultTable, tmp_path: Path) -> None:
    write_report(table, tmp_path)
    with (tmp_path / "results.csv").open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert list(read[0]) == ["row", "metric", "kind", "n", "mean", "low", "high", "p"]
    assert len(read) == 2 * 2 * 3
    for line in read:
        cell = table.cell(line["row"], line["metric"], line["kind"])
        assert int(line["n"]) == cell.n
        assert [float(line[key]) for key in ("mean", "low", "high")] == [
            cell.interval.mean,
            cell.interval.low,
            cell.interval.high,
        ]
        assert (float(line["p"]) if line["p"] else None) == cell.p


def test_trec_files_have_the_judged_rankings(tmp_path: Path) -> None:
    qrels = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}
    runs = {"BM25 (k1=0.9)": {"q1": ["b", "a"], "q3": ["a"]}, "Dense": {"q2": ["c"]}}
    write_report(evaluate_runs(runs, qrels, ["mrr"]), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bm25-k1-0.9.run",
        "dense.run",
        "qrels.trec",
        "results.csv",
        "results.json",
    ]
    assert (tmp_path / "qrels.trec").read_text() == "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
    assert (tmp_path / "bm25-k1-0.9.run").read_text() == (
        "q1 Q0 b 1 2 bm25-k1-0.9\nq1 Q0 a 2 1 bm25-k1-0.9\n"
    )
    assert (tmp_path / "dense.run").read_text() == "q2 Q0 c 1 1 dense\n"


@pytest.mark.parametrize("bad", ["a b", "a\tb", " a", ""])
def test_ids_with_whitespace_fail_before_anything_is_written(bad: str, tmp_path: Path) -> None:
    for run, qrels in (
        ({"q": [bad]}, {"q": {"a": 1}}),
        ({"q": ["a"]}, {"q": {"a": 1, bad: 1}}),
        ({bad: ["a"]}, {bad: {"a": 1}}),
    ):
        with pytest.raises(InvalidDataError, match="whitespace"):
            write_report(evaluate_runs({"row": run}, qrels, ["mrr"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_rows_with_the_same_file_name_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"'bm25\.run', like row 'BM25'"):
        write_report(evaluate_runs({"BM25": GOOD, "(bm25)": BAD}, QRELS, ["mrr"]), tmp_path)
    with pytest.raises(InvalidDataError, match="which has no name"):
        write_report(evaluate_runs({"***": GOOD}, QRELS, ["mrr"]), tmp_path)
