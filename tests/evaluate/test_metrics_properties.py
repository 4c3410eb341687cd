"""What must hold of every metric, whatever the run."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contextune.evaluate.metrics import JudgedRanking, metric

MEASURES = ("recall", "ndcg", "ndcg_exp", "hit", "comp", "mmrr", "mrr", "map")
THINGS = [f"t{number}" for number in range(12)]


class Case(NamedTuple):
    grades: dict[str, int]
    ranking: list[str]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    grades = draw(st.dictionaries(st.sampled_from(THINGS), st.integers(0, 4), max_size=8))
    grades[draw(st.sampled_from(THINGS))] = draw(st.integers(1, 4))
    size = draw(st.integers(0, len(THINGS)))
    return Case(grades, draw(st.permutations(THINGS))[:size])


def score(name: str, ranking: list[str], grades: dict[str, int]) -> float:
    return float(metric(name)(JudgedRanking.of({"q": ranking}, {"q": grades}))[0])


names = st.sampled_from([f"{measure}@{k}" for measure in MEASURES for k in range(1, 15)])
untimed = settings(deadline=None)  # a busy machine is no failure


@untimed
@given(cases(), names)
def test_between_zero_and_one(case: Case, name: str) -> None:
    assert 0 <= score(name, case.ranking, case.grades) <= 1 + 1e-12


@untimed
@given(cases(), st.sampled_from(MEASURES), st.integers(0, 5))
def test_a_perfect_ranking_gives_one(case: Case, measure: str, beyond: int) -> None:
    perfect = sorted(THINGS, key=lambda thing: -case.grades.get(thing, 0))
    relevant = sum(grade > 0 for grade in case.grades.values())
    assert np.isclose(score(f"{measure}@{relevant + beyond}", perfect, case.grades), 1)


@untimed
@given(cases(), st.sampled_from(["ndcg", "ndcg_exp", "hit", "mmrr", "mrr"]), st.integers(1, 14))
def test_a_perfect_ranking_gives_one_at_any_cut(case: Case, measure: str, k: int) -> None:
    perfect = sorted(THINGS, key=lambda thing: -case.grades.get(thing, 0))
    assert np.isclose(score(f"{measure}@{k}", perfect, case.grades), 1)


@untimed
@given(cases(), names, st.data())
def test_moving_a_better_thing_up_never_lowers(case: Case, name: str, data: st.DataObject) -> None:
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


@untimed
@given(cases(), names)
def test_an_irrelevant_tail_changes_nothing(case: Case, name: str) -> None:
    longer = score(name, [*case.ranking, "tail"], case.grades)
    assert longer == pytest.approx(score(name, case.ranking, case.grades), abs=1e-12)


@untimed
@given(st.lists(cases(), min_size=1, max_size=5), names)
def test_queries_do_not_touch_each_other(many: list[Case], name: str) -> None:
    run = {f"q{place}": case.ranking for place, case in enumerate(many)}
    qrels = {f"q{place}": case.grades for place, case in enumerate(many)}
    together = metric(name)(JudgedRanking.of(run, qrels))
    apart = [score(name, case.ranking, case.grades) for case in many]
    assert np.allclose(together, apart, rtol=0, atol=1e-12)


@untimed
@given(cases(), names)
def test_a_missing_query_counts_as_an_empty_ranking(case: Case, name: str) -> None:
    missing = float(metric(name)(JudgedRanking.of({}, {"q": case.grades}))[0])
    assert missing == score(name, [], case.grades)
    assert missing == 0 or name.startswith("mmrr")
    assert missing <= score(name, case.ranking, case.grades) + 1e-12
