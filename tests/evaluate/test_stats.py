"""Intervals that cover what they claim to, and p-values that are neither shy nor bold."""

import math
import tracemalloc

import numpy as np
import pytest

from contextune.evaluate import stats
from contextune.evaluate.stats import bootstrap, paired_test


def clustered(rng: np.random.Generator, groups: int = 30, size: int = 10) -> tuple[stats.Floats, list[str]]:
    """Values that differ between groups far more than within them; their true mean is 0."""
    centres = np.repeat(rng.normal(size=groups), size)
    return centres + rng.normal(scale=0.2, size=groups * size), [
        f"g{place}" for place in range(groups) for _ in range(size)
    ]


def test_the_interval_holds_the_mean_and_narrows_with_the_root_of_n() -> None:
    values = np.random.default_rng(5).random(400)
    interval = bootstrap(values)
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low < interval.mean < interval.high
    expected = 2 * 1.96 * values.std() / math.sqrt(400)
    assert interval.high - interval.low == pytest.approx(expected, rel=0.1)


def test_the_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(6)
    intervals = [bootstrap(rng.exponential(size=80), samples=500, level=0.9) for _ in range(300)]
    covered = sum(interval.low <= 1 <= interval.high for interval in intervals) / 300
    assert 0.84 <= covered <= 0.94


def test_grouped_intervals_cover_on_clustered_data_where_plain_ones_do_not() -> None:
    rng = np.random.default_rng(7)
    plain = grouped = 0
    for _ in range(200):
        values, groups = clustered(rng)
        narrow, wide = bootstrap(values, samples=400), bootstrap(values, groups=groups, samples=400)
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
        plain += narrow.low <= 0 <= narrow.high
        grouped += wide.low <= 0 <= wide.high
    assert plain / 200 < 0.6
    assert grouped / 200 > 0.88


def test_groups_of_one_are_no_groups() -> None:
    values = np.random.default_rng(8).random(50)
    assert bootstrap(values, groups=[f"{place:02}" for place in range(50)]) == bootstrap(values)


def test_groups_of_different_size_weigh_as_many_values_as_they_hold() -> None:
    interval = bootstrap([1.0] * 9 + [0.0], groups=["big"] * 9 + ["small"])
    assert interval.mean == pytest.approx(0.9)
    # drawn twice, big gives 1 and small 0; one of each gives 0.9, not 0.5
    assert (interval.low, interval.high) == (0.0, 1.0)
    assert bootstrap([1.0] * 9 + [0.0], groups=["big"] * 9 + ["small"], level=0.4).low == pytest.approx(0.9)


def test_one_draw_has_no_bounds() -> None:
    for interval in (bootstrap([0.5]), bootstrap([0.25, 0.75], groups=["a", "a"])):
        assert interval.mean == 0.5
        assert math.isnan(interval.low)
        assert math.isnan(interval.high)


def test_a_higher_level_is_wider() -> None:
    values = np.random.default_rng(9).random(100)
    narrow, wide = bootstrap(values, level=0.8), bootstrap(values, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_both_are_deterministic_and_follow_the_seed() -> None:
    rng = np.random.default_rng(10)
    a, b = rng.random(60), rng.random(60)
    assert bootstrap(a) == bootstrap(a)
    assert bootstrap(a) != bootstrap(a, seed=1)
    assert paired_test(a, b) == paired_test(a, b)
    assert paired_test(a, b) != paired_test(a, b, seed=1)


def test_a_clear_difference_has_the_smallest_p() -> None:
    a = np.random.default_rng(11).random(100)
    assert paired_test(a + 0.2, a) == 1 / 10_001


def test_p_is_the_exact_one_for_few_queries() -> None:
    # of the 8 ways to sign three equal differences, two are as extreme as the one seen
    assert paired_test([0.3, 0.3, 0.3], [0.0, 0.0, 0.0]) == pytest.approx(2 / 8, abs=0.02)
    # |±4 ±2 ±1| ≥ 5 in 4 of 8 ways
    assert paired_test([4.0, 2.0, 0.0], [0.0, 0.0, 1.0]) == pytest.approx(4 / 8, abs=0.02)


def test_rounding_does_not_hide_equal_sums() -> None:
    # the difference seen is 0.1 and no signs give less, but some give 0.1 short of a last bit
    assert paired_test([0.1, 0.2, 0.3, 0.0], [0.0, 0.0, 0.0, 0.5]) == 1


def test_p_is_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(12)
    p = np.array([paired_test(*rng.random((2, 40)), samples=400) for _ in range(400)])
    for level in (0.05, 0.25, 0.5, 0.75):
        assert (p <= level).mean() == pytest.approx(level, abs=0.06)


def test_p_is_the_same_both_ways_round() -> None:
    rng = np.random.default_rng(13)
    a, b = rng.random((2, 70))
    groups = [f"g{place % 9}" for place in range(70)]
    assert paired_test(a, b) == paired_test(b, a)
    assert paired_test(a, b, groups=groups) == paired_test(b, a, groups=groups)


def test_no_difference_at_all_has_p_one() -> None:
    assert paired_test([0.5, 0.25], [0.5, 0.25]) == 1


def test_clustered_differences_need_the_groups() -> None:
    rng = np.random.default_rng(14)
    plain: list[float] = []
    grouped: list[float] = []
    for _ in range(100):
        values, groups = clustered(rng, groups=12)
        plain.append(paired_test(values, np.zeros_like(values), samples=500))
        grouped.append(paired_test(values, np.zeros_like(values), groups=groups, samples=500))
    assert np.mean(np.array(plain) < 0.05) > 0.3
    assert np.mean(np.array(grouped) < 0.05) < 0.12


def test_memory_stays_bounded() -> None:
    a, b = np.random.default_rng(15).random((2, 20_000))
    tracemalloc.start()
    try:
        bootstrap(a, samples=1500)
        paired_test(a, b, samples=3000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # all draws at once would be 1500 × 20,000 places, or 3000 × 20,000 signs, of 8 bytes: 240 and 480 MB
    assert peak < 150e6


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_outside_zero_and_one_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match=f"level must .* not {level}"):
        bootstrap([0.0, 1.0], level=level)


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one number"):
        bootstrap([])
    with pytest.raises(ValueError, match="finite, not nan"):
        bootstrap([0.5, math.nan])
    with pytest.raises(ValueError, match="2 values, 1 groups"):
        bootstrap([0.5, 0.5], groups=["a"])
    with pytest.raises(ValueError, match="not 1 and 2"):
        paired_test([0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="samples must be at least 1"):
        paired_test([0.5], [0.25], samples=0)
