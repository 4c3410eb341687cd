"""Properties of every metric on random runs (hypothesis)."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contextune.evaluate.metrics import JudgedRanking, parse_metric

MEASURES = ("recall", "ndcg", "ndcg_exp", "hit", "comp", "mmrr", "mrr", "map")
DOCUMENTS = [f"t{number}" for number in range(12)]


class Case(NamedTuple):
    grades: dict[str, int]
    ranking: list[str]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    grades = draw(st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 4), max_size=8))
    grades[draw(st.sampled_from(DOCUMENTS))] = draw(st.integers(1, 4))
    size = draw(st.integers(0, len(DOCUMENTS)))
    return Case(grades, draw(st.permutations(DOCUMENTS))[:size])


def score(name: str, ranking: list[str], grades: dict[str, int]) -> float:
    return float(parse_metric(name)(JudgedRanking.from_run({"q": ranking}, {"q": grades}))[0])


names = st.sampled_from([f"{measure}@{k}" for measure in MEASURES for k in range(1, 15)])
no_deadline = settings(deadline=None, max_examples=60)  # independent of the machine's load


@no_deadline
@given(cases(), names)
def test_metrics_are_between_zero_and_one(case: Case, name: str) -> None:
    assert 0 <= score(name, case.ranking, case.grades) <= 1 + 1e-12


@no_deadline
@given(cases(), st.sampled_from(MEASURES), st.integers(0, 5))
def test_perfect_ranking_is_one(case: Case, measure: str, beyond: int) -> None:
    perfect = sorted(DOCUMENTS, key=lambda document: -case.grades.get(document, 0))
    relevant = sum(grade > 0 for grade in case.grades.values())
    assert np.isclose(score(f"{measure}@{relevant + beyond}", perfect, case.grades), 1)


@no_deadline
@given(cases(), st.sampled_from(["ndcg", "ndcg_exp", "hit", "mmrr", "mrr"]), st.integers(1, 14))
def test_perfect_ranking_is_one_at_any_cutoff(case: Case, measure: str, k: int) -> None:
    perfect = sorted(DOCUMENTS, key=lambda document: -case.grades.get(document, 0))
    assert np.isclose(score(f"{measure}@{k}", perfect, case.grades), 1)


@no_deadline
@given(cases(), names, st.data())
def test_moving_a_better_document_up_never_lowers(case: Case, name: str, data: st.DataObject) -> None:
    grades, ranking = case
    better = [
        (up, down)
        for down in range(len(ranking))
        for up in range(down)
        if grades.get(ranking[down], 0) > grades.get(ranking[up], 0)
    ]
    assume(better)
    up, down = data.draw(st.sampled_from(better))
    swapped = list(ranking)
    swapped[up], swapped[down] = swapped[down], swapped[up]
    assert score(name, swapped, grades) >= score(name, ranking, grades) - 1e-12


@no_deadline
@given(cases(), names)
def test_irrelevant_tail_changes_nothing(case: Case, name: str) -> None:
    longer = score(name, [*case.ranking, "tail"], case.grades)
    assert longer == pytest.approx(score(name, case.ranking, case.grades), abs=1e-12)


@no_deadline
@given(st.lists(cases(), min_size=1, max_size=5), names)
def test_queries_are_independent(many: list[Case], name: str) -> None:
    run = {f"q{number}": case.ranking for number, case in enumerate(many)}
    qrels = {f"q{number}": case.grades for number, case in enumerate(many)}
    together = parse_metric(name)(JudgedRanking.from_run(run, qrels))
    apart = [score(name, case.ranking, case.grades) for case in many]
    assert np.allclose(together, apart, rtol=0, atol=1e-12)


@no_deadline
@given(cases(), names)
def test_missing_query_counts_as_empty_ranking(case: Case, name: str) -> None:
    missing = float(parse_metric(name)(JudgedRanking.from_run({}, {"q": case.grades}))[0])
    assert missing == score(name, [], case.grades)
    assert missing == 0 or name.startswith("mmrr")
    assert missing <= score(name, case.ranking, case.grades) + 1e-12
