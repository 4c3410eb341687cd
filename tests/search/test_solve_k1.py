"""`solve_k1` against a bisection in fifty digits."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.search.bm25 import solve_k1

TARGETS = st.floats(1e-12, 600)


def g(k1: float) -> float:
    return 1.0 if k1 == 1 else k1 * math.log(k1) / (k1 - 1)


def precise_root(target: float) -> float:
    with localcontext() as context:
        context.prec = 50
        goal, low, high = Decimal(target), Decimal(-200), Decimal(700)
        for _ in range(120):
            middle = (low + high) / 2
            # avoids the division by zero at k1 = 1
            k1 = (middle or Decimal("1e-40")).exp()
            low, high = (middle, high) if k1 / (k1 - 1) * k1.ln() < goal else (low, middle)
        return float(low.exp())


@pytest.mark.parametrize(
    ("target", "k1"),
    [(math.log(2), 0.5), (2 * math.log(2), 2), (8 / 3 * math.log(2), 4), (2 / 3 * math.log(2), 0.25), (1, 1)],
)
def test_targets_with_a_closed_form(target: float, k1: float) -> None:
    assert solve_k1(np.array([target])) == pytest.approx([k1], rel=1e-14)


@pytest.mark.parametrize(
    "target", [1e-30, 1e-6, 0.03, 0.5, 0.99, 1 - 3e-6, 1 + 1e-13, 1 + 4e-9, 1.001, 2, 4.2, 7, 40, 300]
)
def test_against_a_precise_root(target: float) -> None:
    assert solve_k1(np.array([target])) == pytest.approx([precise_root(target)], rel=1e-12)


@given(TARGETS)
def test_g_of_the_solution_is_the_target(target: float) -> None:
    (k1,) = solve_k1(np.array([target]))
    # near one, g loses half its digits; 1 + (k1 - 1) / 2 does not
    value = 1 + (k1 - 1) / 2 if abs(k1 - 1) < 1e-6 else g(k1)
    assert value == pytest.approx(target, rel=1e-8)


@given(st.lists(TARGETS, min_size=2, unique=True).map(sorted))
def test_k1_grows_with_the_target(targets: list[float]) -> None:
    solved = solve_k1(np.array(targets))
    assert (solved[1:] >= solved[:-1] * (1 - 1e-12)).all()


def test_zero_and_empty_targets() -> None:
    assert solve_k1(np.array([0.0])).tolist() == [0]
    assert solve_k1(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("target", [-0.1, math.nan, math.inf])
def test_invalid_targets_are_refused(target: float) -> None:
    with pytest.raises(ValueError, match="every target"):
        solve_k1(np.array([0.5, target]))
