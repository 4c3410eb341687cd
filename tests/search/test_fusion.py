"""Reciprocal rank fusion, interleaving and tied ranks."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.search import interleave, rank_by_score, reciprocal_rank_fusion

LISTS = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=5)


def test_fusion_sums_reciprocal_ranks() -> None:
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


def test_duplicates_are_removed_before_ranking() -> None:
    assert reciprocal_rank_fusion([["a", "a", "b", "a"]]) == reciprocal_rank_fusion([["a", "b"]])


def test_ties_go_to_the_better_rank_then_to_the_first_listed() -> None:
    # with k = 0: "x" 1/2 from one first position of weight 1/2, "y" 1/4 + 1/4 from two second places
    fused = reciprocal_rank_fusion([["p", "y"], ["q", "y"], ["x"]], weights=[0.5, 0.5, 0.5], k=0)
    assert [entry for entry, _ in fused] == ["p", "q", "x", "y"]
    assert {score for _, score in fused} == {0.5}


@given(LISTS)
def test_fusion_lists_every_entry_once_best_first(lists: list[list[int]]) -> None:
    fused = reciprocal_rank_fusion(lists)
    expected: dict[int, Fraction] = {}
    for entries in lists:
        for rank, entry in enumerate(sorted(set(entries), key=entries.index), start=1):
            expected[entry] = expected.get(entry, Fraction(0)) + Fraction(1, 60 + rank)
    assert {entry: pytest.approx(float(score), rel=1e-12) for entry, score in expected.items()} == dict(fused)
    assert len(fused) == len(expected)
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)


@given(LISTS.flatmap(lambda lists: st.tuples(st.just(lists), st.permutations(lists))))
def test_order_of_lists_does_not_change_scores(
    pair: tuple[list[list[int]], list[list[int]]],
) -> None:
    lists, shuffled = pair
    assert dict(reciprocal_rank_fusion(lists)) == dict(reciprocal_rank_fusion(shuffled))


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=4), st.data())
def test_moving_up_in_one_list_raises_the_score(lists: list[list[int]], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(lists) - 1))
    position = data.draw(st.integers(1, 5))
    overtaken, entry = lists[number][position - 1 : position + 1]
    better = [list(entries) for entries in lists]
    better[number][position - 1 : position + 1] = [entry, overtaken]
    before, after = (dict(reciprocal_rank_fusion(ranking)) for ranking in (lists, better))
    assert after[entry] > before[entry]
    assert after[overtaken] < before[overtaken]


@given(LISTS, st.lists(st.integers(0, 9)))
def test_list_of_weight_zero_is_ignored(lists: list[list[int]], ignored: list[int]) -> None:
    weights = [0.0, *(1.0 for _ in lists)]
    assert reciprocal_rank_fusion([ignored, *lists], weights=weights) == reciprocal_rank_fusion(lists)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0, 1.0], [1.0, -0.1], [1.0, math.nan], [1.0, math.inf]])
def test_invalid_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=weights)


@pytest.mark.parametrize("k", [-1, math.nan])
def test_invalid_k_is_refused(k: float) -> None:
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
def test_interleave(lists: list[str], expected: str) -> None:
    assert "".join(interleave(lists)) == expected


@given(LISTS)
def test_interleave_lists_every_entry_once_and_starts_with_the_first_list(lists: list[list[int]]) -> None:
    merged = interleave(lists)
    assert sorted(merged) == sorted({entry for entries in lists for entry in entries})
    for entries in lists:
        if entries:
            assert merged[0] == entries[0]
            break


@given(LISTS)
def test_interleave_reaches_every_entry_within_its_turn(lists: list[list[int]]) -> None:
    merged = interleave(lists)
    for number, entries in enumerate(lists):
        for position, entry in enumerate(entries):
            # after `position + 1` full turns this list has given or skipped all it has up to here
            assert merged.index(entry) <= position * len(lists) + number


@given(st.lists(st.integers(0, 9), unique=True))
def test_single_list_is_unchanged(entries: list[int]) -> None:
    assert interleave([entries]) == entries
    assert [entry for entry, _ in reciprocal_rank_fusion([entries])] == entries


@given(st.lists(st.sampled_from([-1.0, -0.0, 0.0, 0.5, math.inf]), max_size=20))
def test_rank_is_one_plus_the_number_of_better_scores(scores: list[float]) -> None:
    ranks = rank_by_score(np.array(scores, np.float64))
    assert ranks.tolist() == [1 + sum(other > score for other in scores) for score in scores]


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        rank_by_score(np.array([0.5, math.nan]))
