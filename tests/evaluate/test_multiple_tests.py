"""Correction for several tests."""

import pytest

from contextune.evaluate.multiple_tests import holm


def test_holm_multiplies_by_the_number_of_remaining_tests() -> None:
    # the example of Holm's procedure with four tests: 0.005·4, 0.01·3, 0.03·2, 0.04·1
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert list(adjusted) == ["a", "b", "c", "d"]
    assert adjusted == pytest.approx({"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06})  # never below a smaller p


def test_holm_leaves_a_single_test_as_it_is() -> None:
    assert holm({1: 0.04}) == {1: 0.04}
    assert holm({}) == {}


def test_adjusted_values_are_at_most_one() -> None:
    assert holm({"a": 0.7, "b": 0.9}) == {"a": 1.0, "b": 1.0}
