"""Metrics against values computed by hand, and invalid input."""

import pickle
from math import log2

import numpy as np
import pytest

from contextune.errors import InvalidDataError
from contextune.evaluate import metrics
from contextune.evaluate.metrics import JudgedRanking, Metric, parse_metric

QRELS = {"graded": {"x": 3, "y": 1, "z": 2, "w": 0}, "single": {"s": 1}}
RUN = {"graded": ["other", "z", "w", "y", "another"], "single": ["other", "another", "s"]}
DCG = 2 / log2(3) + 1 / log2(5)
IDEAL = 3 + 2 / log2(3) + 1 / 2
DCG_EXP = 3 / log2(3) + 1 / log2(5)
IDEAL_EXP = 7 + 3 / log2(3) + 1 / 2


def test_judged_ranking_has_grades_as_arrays() -> None:
    judged = JudgedRanking.from_run(RUN, QRELS)
    assert judged.queries == ("graded", "single")
    assert judged.gains.tolist() == [[0, 2, 0, 1, 0], [0, 0, 1, 0, 0]]
    assert judged.ideal.tolist() == [[3, 2, 1], [1, 0, 0]]
    assert judged.relevant.tolist() == [3, 1]
    assert judged.lengths.tolist() == [5, 3]


@pytest.mark.parametrize(
    ("name", "graded", "single"),
    [
        ("recall@1", 0, 0),
        ("recall@2", 1 / 3, 0),
        ("recall@4", 2 / 3, 1),
        ("recall@99", 2 / 3, 1),
        ("hit@1", 0, 0),
        ("hit@2", 1, 0),
        ("hit@3", 1, 1),
        ("comp@2", 0, 0),
        ("comp@3", 0, 1),
        ("comp@99", 0, 1),
        ("ndcg@1", 0, 0),
        ("ndcg@2", (2 / log2(3)) / (3 + 2 / log2(3)), 0),
        ("ndcg@4", DCG / IDEAL, 1 / 2),
        ("ndcg_exp@4", DCG_EXP / IDEAL_EXP, 1 / 2),
        ("mrr", 1 / 2, 1 / 3),
        ("mrr@2", 1 / 2, 0),
        ("map", (1 / 2 + 2 / 4) / 3, 1 / 3),
        ("map@2", (1 / 2) / 3, 0),
        # ranks 2 and 4, the third at 6, against 1, 2 and 3
        ("mmrr@5", 6 / 12, 1 / 3),
        # rank 2, two missing at 3; the ideal top 2 misses the third document as well
        ("mmrr@2", (1 + 2 + 3) / (2 + 3 + 3), 1 / 3),
    ],
)
def test_metric_equals_value_by_hand(name: str, graded: float, single: float) -> None:
    assert parse_metric(name)(JudgedRanking.from_run(RUN, QRELS)).tolist() == pytest.approx([graded, single])


@pytest.mark.parametrize(
    "name", ["recall@3", "comp@3", "ndcg@3", "ndcg_exp@3", "mrr", "map", "mmrr@3", "mmrr@11"]
)
def test_perfect_ranking_is_one(name: str) -> None:
    run = {"graded": ["x", "z", "y", "w"], "single": ["s"]}
    assert parse_metric(name)(JudgedRanking.from_run(run, QRELS)).tolist() == pytest.approx([1, 1])


def test_mmrr_of_one_relevant_document_is_its_reciprocal_rank() -> None:
    rankings = {
        f"q{rank}": [f"filler{number}" for number in range(rank - 1)] + ["it"] for rank in range(1, 6)
    }
    judged = JudgedRanking.from_run(rankings, {query: {"it": 1} for query in rankings})
    assert metrics.mmrr(judged, 11).tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])


def test_missing_query_counts_as_empty_ranking() -> None:
    judged = JudgedRanking.from_run({"single": ["s"], "unjudged": ["s"]}, QRELS)
    assert judged.queries == ("graded", "single")
    assert judged.lengths.tolist() == [0, 1]
    for name in ("recall@3", "ndcg@3", "ndcg_exp@3", "hit@3", "comp@3", "mrr", "map"):
        assert parse_metric(name)(judged).tolist() == [0, 1], name
    assert metrics.mmrr(judged, 3).tolist() == [6 / 12, 1]


def test_empty_run_scores_zero() -> None:
    judged = JudgedRanking.from_run({}, QRELS)
    assert judged.gains.shape == (2, 0)
    for name in ("recall@3", "ndcg@3", "ndcg_exp@3", "hit@3", "comp@3", "mrr", "map@2"):
        assert parse_metric(name)(judged).tolist() == [0, 0], name


def test_duplicate_documents_are_an_error() -> None:
    with pytest.raises(InvalidDataError, match=r"query 'single': 'b' is ranked more than once"):
        JudgedRanking.from_run({"single": ["a", "b", "c", "b", "a"]}, {"single": {"a": 1}})


def test_query_without_relevant_documents_is_an_error() -> None:
    with pytest.raises(InvalidDataError, match="query 'empty' has no relevant document"):
        JudgedRanking.from_run(RUN, {**QRELS, "empty": {"x": 0}})


def test_negative_grade_is_an_error() -> None:
    with pytest.raises(InvalidDataError, match="query 'q': 'bad' has grade -1"):
        JudgedRanking.from_run({}, {"q": {"good": 1, "bad": -1}})


def test_empty_qrels_are_an_error() -> None:
    with pytest.raises(InvalidDataError, match="qrels is empty"):
        JudgedRanking.from_run(RUN, {})


def test_judged_ranking_is_read_only() -> None:
    judged = JudgedRanking.from_run(RUN, QRELS)
    for array in (judged.gains, judged.ideal, judged.relevant, judged.lengths):
        with pytest.raises(ValueError, match="read-only"):
            np.add(array, 1, out=array)


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_at_least_one(k: int) -> None:
    judged = JudgedRanking.from_run(RUN, QRELS)
    with pytest.raises(ValueError, match=f"not {k}"):
        metrics.recall(judged, k)
    with pytest.raises(ValueError, match=f"not {k}"):
        metrics.ndcg(judged, k)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("recall@3", "Recall@3"),
        ("ndcg@10", "NDCG@10"),
        ("ndcg_exp@10", "NDCG-exp@10"),
        ("hit@1", "Hit@1"),
        ("comp@5", "COMP@5"),
        ("mmrr@11", "MMRR@11"),
        ("mrr", "MRR"),
        ("mrr@10", "MRR@10"),
        ("map", "MAP"),
        ("map@11", "MAP@11"),
    ],
)
def test_names_and_labels(name: str, label: str) -> None:
    assert parse_metric(name).name == name
    assert parse_metric(name).label == label


def test_metrics_compare_and_pickle() -> None:
    assert parse_metric("recall@3") == Metric("recall", 3)
    assert parse_metric("recall@3") != parse_metric("recall@5")
    assert pickle.loads(pickle.dumps(parse_metric("map"))) == parse_metric("map")


@pytest.mark.parametrize(
    "name", ["accuracy", "recall", "mmrr", "recall@0", "recall@", "mrr@x", "Recall@3", "", "mrr@1.5"]
)
def test_unknown_metric_error_lists_all_metrics(name: str) -> None:
    with pytest.raises(
        ValueError, match=r"unknown metric .*recall@K.*ndcg_exp@K.*mmrr@K, mrr, map, mrr@K, map@K"
    ):
        parse_metric(name)
