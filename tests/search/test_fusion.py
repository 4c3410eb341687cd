"""Reciprocal rank fusion, interleaving and tied ranks."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.search import interleave, rank_by_score, reciprocal_rank_fusion

LISTS = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=5)


def test_fusion_by_hand() -> None:
    fused = reciprocal_rank_fusion([["a", "b"], ["b", "c"]])
    assert fused == [
        ("b", pytest.approx(1 / 62 + 1 / 61)),
        ("a", pytest.approx(1 / 61)),
        ("c", pytest.approx(1 / 62)),
    ]
    weighted = reciprocal_rank_fusion([["a", "b"], ["b", "c"]], weights=[3, 0.5], k=1)
    assert weighted == [
        ("a", pytest.approx(3 / 2)),
        ("b", pytest.approx(3 / 3 + 0.5 / 2)),
        ("c", pytest.approx(0.5 / 3)),
    ]


def test_a_duplicate_counts_once_and_the_rest_close_up() -> None:
    assert reciprocal_rank_fusion([["a", "a", "b", "a"]]) == reciprocal_rank_fusion([["a", "b"]])


def test_equal_sums_go_to_the_better_rank_and_then_to_the_first_listed() -> None:
    # with k = 0: "x" 1/2 from one first place of weight 1/2, "y" 1/4 + 1/4 from two second places
    fused = reciprocal_rank_fusion([["p", "y"], ["q", "y"], ["x"]], weights=[0.5, 0.5, 0.5], k=0)
    assert [thing for thing, _ in fused] == ["p", "q", "x", "y"]
    assert {score for _, score in fused} == {0.5}


@given(LISTS)
def test_fusion_lists_everything_once_best_first_with_exact_sums(lists: list[list[int]]) -> None:
    fused = reciprocal_rank_fusion(lists)
    expected: dict[int, Fraction] = {}
    for things in lists:
        for rank, thing in enumerate(sorted(set(things), key=things.index), start=1):
            expected[thing] = expected.get(thing, Fraction(0)) + Fraction(1, 60 + rank)
    assert {thing: pytest.approx(float(score), rel=1e-12) for thing, score in expected.items()} == dict(fused)
    assert len(fused) == len(expected)
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)


@given(LISTS.flatmap(lambda lists: st.tuples(st.just(lists), st.permutations(lists))))
def test_the_order_of_the_lists_does_not_matter_for_the_scores(
    pair: tuple[list[list[int]], list[list[int]]],
) -> None:
    lists, shuffled = pair
    assert dict(reciprocal_rank_fusion(lists)) == dict(reciprocal_rank_fusion(shuffled))


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=4), st.data())
def test_moving_up_in_one_list_never_moves_a_thing_down(lists: list[list[int]], data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(lists) - 1))
    place = data.draw(st.integers(1, 5))
    overtaken, thing = lists[which][place - 1 : place + 1]
    better = [list(things) for things in lists]
    better[which][place - 1 : place + 1] = [thing, overtaken]
    before, after = (dict(reciprocal_rank_fusion(given)) for given in (lists, better))
    assert after[thing] > before[thing]
    assert after[overtaken] < before[overtaken]


@given(LISTS, st.lists(st.integers(0, 9)))
def test_a_list_of_weight_zero_is_as_good_as_none(lists: list[list[int]], ignored: list[int]) -> None:
    weights = [0.0, *(1.0 for _ in lists)]
    assert reciprocal_rank_fusion([ignored, *lists], weights=weights) == reciprocal_rank_fusion(lists)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0, 1.0], [1.0, -0.1], [1.0, math.nan], [1.0, math.inf]])
def test_impossible_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=weights)


@pytest.mark.parametrize("k", [-1, math.nan])
def test_impossible_k_is_refused(k: float) -> None:
    with pytest.raises(ValueError, match="k must"):
        reciprocal_rank_fusion([["a"]], k=k)


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([], ""),
        (["", ""], ""),
        (["abc", "xyz"], "axbycz"),
        (["", "ab", "x"], "axb"),
        (["abcd", "abxy"], "abcxdy"),  # the second list skips "a" and "b" within its own turns
        (["aab"], "ab"),
    ],
)
def test_interleave_by_hand(lists: list[str], expected: str) -> None:
    assert "".join(interleave(lists)) == expected


@given(LISTS)
def test_interleave_takes_everything_once_and_begins_with_the_first_list(lists: list[list[int]]) -> None:
    taken = interleave(lists)
    assert sorted(taken) == sorted({thing for things in lists for thing in things})
    for things in lists:
        if things:
            assert taken[0] == things[0]
            break


@given(LISTS)
def test_interleave_reaches_nothing_later_than_its_turn(lists: list[list[int]]) -> None:
    taken = interleave(lists)
    for which, things in enumerate(lists):
        for place, thing in enumerate(things):
            # after `place + 1` full turns this list has given or skipped all it has up to here
            assert taken.index(thing) <= place * len(lists) + which


@given(st.lists(st.integers(0, 9), unique=True))
def test_a_single_list_stays_as_it_is(things: list[int]) -> None:
    assert interleave([things]) == things
    assert [thing for thing, _ in reciprocal_rank_fusion([things])] == things


@given(st.lists(st.sampled_from([-1.0, -0.0, 0.0, 0.5, math.inf]), max_size=20))
def test_a_rank_is_one_more_than_the_number_of_better_scores(scores: list[float]) -> None:
    ranks = rank_by_score(np.array(scores, np.float64))
    assert ranks.tolist() == [1 + sum(other > score for other in scores) for score in scores]


def test_nan_has_no_rank() -> None:
    with pytest.raises(ValueError, match="NaN"):
        rank_by_score(np.array([0.5, math.nan]))
