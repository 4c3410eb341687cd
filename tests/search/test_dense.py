"""Exact dense search against plain numpy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contextune.search import similarities, top

SCORES = st.lists(
    st.tuples(st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, 2.0]), st.booleans()), max_size=30
)


def test_similarities_are_cosines() -> None:
    half = math.sqrt(0.5)
    matrix = np.array([[1, 0], [0, 1], [half, half], [-1, 0]], np.float32)
    scores = similarities(np.array([1, 0], np.float32), matrix)
    assert scores == pytest.approx([1, 0, half, -1])
    assert scores.dtype == np.float32
    assert similarities(np.array([1, 0], np.float32), np.empty((0, 2), np.float32)).shape == (0,)


def test_mismatched_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3,\).*\(1, 2\)"):
        similarities(np.zeros(3, np.float32), np.zeros((1, 2), np.float32))
    with pytest.raises(ValueError, match="do not fit"):
        similarities(np.zeros((1, 2), np.float32), np.zeros((1, 2), np.float32))


@given(SCORES, st.integers(0, 35))
def test_top_is_a_stable_sort_of_the_visible_scores(entries: list[tuple[float, bool]], k: int) -> None:
    scores = np.array([score for score, _ in entries], np.float64)
    visible: NDArray[np.bool_] = np.array([shown for _, shown in entries], np.bool_)
    order = np.argsort(-scores, kind="stable")
    assert top(scores, k).tolist() == order[:k].tolist()
    assert top(scores, k, visible=visible).tolist() == order[visible[order]][:k].tolist()


def test_ties_at_the_cutoff_go_to_the_lower_position() -> None:
    assert top(np.array([0.0, 1, 1, 1, 2, 1]), 3).tolist() == [4, 1, 2]
    # long enough for sorts that happen to be stable on short arrays
    assert top(np.tile([0.0, 1.0], 500), 1000).tolist() == [*range(1, 1000, 2), *range(0, 1000, 2)]


def test_nan_and_invalid_arguments_are_refused() -> None:
    scores = np.array([0.5, math.nan, 0.1])
    with pytest.raises(ValueError, match="at position 1 is NaN"):
        top(scores, 1)
    assert top(scores, 1, visible=np.array([True, False, True])).tolist() == [0]
    with pytest.raises(ValueError, match="negative"):
        top(scores, -1)
    with pytest.raises(ValueError, match="same shape"):
        top(scores, 1, visible=np.array([True]))
