"""evaluate_runs: means, p-values against a baseline, kinds, and invalid input."""

import numpy as np
import pytest

from contextune.errors import InvalidDataError
from contextune.evaluate.results import ALL, evaluate_runs
from contextune.evaluate.stats import bootstrap, paired_test

QUERIES = [f"q{number:02}" for number in range(40)]
QRELS = {query: {"right": 1} for query in QUERIES}
GOOD = {query: ["right", "wrong"] for query in QUERIES}
BAD = {query: ["wrong", "right"] if number % 4 else ["right"] for number, query in enumerate(QUERIES)}
GROUPS = {query: f"persona{number // 8}" for number, query in enumerate(QUERIES)}
KINDS = {query: "habit" if number < 10 else "place" for number, query in enumerate(QUERIES)}


def test_means_intervals_and_p_values() -> None:
    table = evaluate_runs({"bad": BAD, "good": GOOD}, QRELS, ["hit@1", "mrr"], baseline="bad")
    scores = np.array([0.0 if number % 4 else 1.0 for number in range(40)])
    assert table.rows == ("bad", "good")
    assert table.cell("bad", "hit@1").n == 40
    assert table.cell("bad", "hit@1").interval == bootstrap(scores)
    assert table.cell("good", "hit@1").interval.mean == 1
    assert table.cell("good", "hit@1").p == paired_test(np.ones(40), scores)
    assert table.cell("bad", "mrr").interval.mean == pytest.approx((10 * 1 + 30 * 0.5) / 40)
    assert table.cell("bad", "hit@1").p is None


def test_without_a_baseline_there_are_no_p_values() -> None:
    table = evaluate_runs({"bad": BAD, "good": GOOD}, QRELS, ["hit@1"])
    assert [cell.p for cell in table.cells.values()] == [None, None]


def test_groups_are_used_by_interval_and_test() -> None:
    table = evaluate_runs({"bad": BAD, "good": GOOD}, QRELS, ["hit@1"], groups=GROUPS, baseline="bad")
    scores = np.array([0.0 if number % 4 else 1.0 for number in range(40)])
    labels = list(GROUPS.values())
    assert table.cell("bad", "hit@1").interval == bootstrap(scores, groups=labels)
    assert table.cell("good", "hit@1").p == paired_test(np.ones(40), scores, groups=labels)
    assert table.cell("good", "hit@1").p == pytest.approx(2 / 2**5, abs=0.02)


def test_kinds_split_the_queries() -> None:
    table = evaluate_runs({"bad": BAD}, QRELS, ["hit@1"], groups=GROUPS, kinds=KINDS)
    assert table.kinds == ("habit", "place")
    assert table.cell("bad", "hit@1", "habit").n == 10
    assert table.cell("bad", "hit@1", "habit").interval.mean == pytest.approx(3 / 10)
    assert table.cell("bad", "hit@1", "place").n == 30
    assert table.cell("bad", "hit@1", "place").interval.mean == pytest.approx(7 / 30)
    assert table.cell("bad", "hit@1", ALL).n == 40


def test_missing_query_counts_as_zero() -> None:
    table = evaluate_runs({"short": {query: GOOD[query] for query in QUERIES[:10]}}, QRELS, ["hit@1"])
    assert table.cell("short", "hit@1").interval.mean == 0.25


def test_duplicate_metric_is_measured_once() -> None:
    assert [m.name for m in evaluate_runs({"good": GOOD}, QRELS, ["mrr", "hit@1", "mrr"]).metrics] == [
        "mrr",
        "hit@1",
    ]


def test_inconsistent_arguments_are_errors() -> None:
    rows = {"good": GOOD}
    with pytest.raises(ValueError, match="baseline 'bm25' is not among the rows: 'good'"):
        evaluate_runs(rows, QRELS, ["mrr"], baseline="bm25")
    with pytest.raises(ValueError, match="one row and one metric, not 0 and 1"):
        evaluate_runs({}, QRELS, ["mrr"])
    with pytest.raises(ValueError, match="one row and one metric, not 1 and 0"):
        evaluate_runs(rows, QRELS, [])
    with pytest.raises(ValueError, match="unknown metric 'precision'"):
        evaluate_runs(rows, QRELS, ["precision"])
    with pytest.raises(ValueError, match=r"'good' names 'map', which is not measured: mrr"):
        evaluate_runs(rows, QRELS, ["mrr"], reference={"good": {"map": 0.5}})
    with pytest.raises(ValueError, match=r"'good', 'mrr' must be between 0 and 1, not 74\.5"):
        evaluate_runs(rows, QRELS, ["mrr"], reference={"good": {"mrr": 74.5}})
    with pytest.raises(InvalidDataError, match="kinds has no label for query 'q01'"):
        evaluate_runs(rows, QRELS, ["mrr"], kinds={"q00": "habit"})
    with pytest.raises(InvalidDataError, match="groups has no label for query 'q00'"):
        evaluate_runs(rows, QRELS, ["mrr"], groups={})
    with pytest.raises(InvalidDataError, match="'all' is not allowed as a kind"):
        evaluate_runs(rows, QRELS, ["mrr"], kinds=dict.fromkeys(QUERIES, "all"))
