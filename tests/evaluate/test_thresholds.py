"""Thresholds for a share of false refusals."""

import math

import pytest

from contextune.errors import InvalidDataError
from contextune.evaluate.thresholds import fit_thresholds


def test_threshold_refuses_the_allowed_share_of_the_served() -> None:
    served = [number / 100 for number in range(1, 101)]
    five, ten = fit_thresholds(served, [0.055, 0.07, 0.5, 0.9])
    assert (five.min_fit, ten.min_fit) == (0.06, 0.11)
    assert five.false_refusals.mean == pytest.approx(0.05)
    assert ten.false_refusals.mean == pytest.approx(0.1)
    assert five.refusals is not None
    assert ten.refusals is not None
    assert (five.refusals.mean, ten.refusals.mean) == (0.25, 0.5)
    assert five.false_refusals.low < 0.05 < five.false_refusals.high


def test_few_requests_are_never_refused_more_than_allowed() -> None:
    (threshold,) = fit_thresholds([0.123456, 0.2, 0.3], [], [0.3])
    assert threshold.min_fit == 0.123  # rounded down
    assert threshold.false_refusals.mean == 0
    assert threshold.refusals is None


def test_all_served_requests_may_be_refused() -> None:
    (threshold,) = fit_thresholds([0.5], [0.4], [1.0])
    assert threshold.min_fit == 0.5
    assert math.isnan(threshold.false_refusals.low)


def test_unserved_requests_alone_give_no_threshold() -> None:
    with pytest.raises(InvalidDataError, match="no request is served"):
        fit_thresholds([], [0.1])
