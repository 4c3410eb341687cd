"""Coverage of bootstrap intervals and calibration of p-values."""

import math
import tracemalloc

import numpy as np
import pytest

from contextune.evaluate import stats
from contextune.evaluate.stats import bootstrap, holm, paired_test


def clustered(rng: np.random.Generator, groups: int = 30, size: int = 10) -> tuple[stats.Floats, list[str]]:
    """Values that differ between groups far more than within them; their true mean is 0."""
    centres = np.repeat(rng.normal(size=groups), size)
    return centres + rng.normal(scale=0.2, size=groups * size), [
        f"g{number}" for number in range(groups) for _ in range(size)
    ]


def test_interval_contains_the_mean_and_has_the_expected_width() -> None:
    values = np.random.default_rng(5).random(400)
    interval = bootstrap(values)
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low < interval.mean < interval.high
    expected = 2 * 1.96 * values.std() / math.sqrt(400)
    assert interval.high - interval.low == pytest.approx(expected, rel=0.1)


def test_interval_covers_the_true_mean_at_its_level() -> None:
    rng = np.random.default_rng(6)
    intervals = [bootstrap(rng.exponential(size=80), samples=500, level=0.9) for _ in range(300)]
    covered = sum(interval.low <= 1 <= interval.high for interval in intervals) / 300
    assert 0.84 <= covered <= 0.94


def test_only_grouped_intervals_cover_on_clustered_data() -> None:
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


def test_groups_of_one_equal_no_groups() -> None:
    values = np.random.default_rng(8).random(50)
    assert bootstrap(values, groups=[f"{number:02}" for number in range(50)]) == bootstrap(values)


def test_groups_are_weighted_by_their_size() -> None:
    interval = bootstrap([1.0] * 9 + [0.0], groups=["big"] * 9 + ["small"])
    assert interval.mean == pytest.approx(0.9)
    # drawn twice, big gives 1 and small 0; one of each gives 0.9, not 0.5
    assert (interval.low, interval.high) == (0.0, 1.0)
    assert bootstrap([1.0] * 9 + [0.0], groups=["big"] * 9 + ["small"], level=0.4).low == pytest.approx(0.9)


def test_single_group_has_no_bounds() -> None:
    for interval in (bootstrap([0.5]), bootstrap([0.25, 0.75], groups=["a", "a"])):
        assert interval.mean == 0.5
        assert math.isnan(interval.low)
        assert math.isnan(interval.high)


def test_higher_level_is_wider() -> None:
    values = np.random.default_rng(9).random(100)
    narrow, wide = bootstrap(values, level=0.8), bootstrap(values, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_results_are_deterministic_and_depend_on_the_seed() -> None:
    rng = np.random.default_rng(10)
    a, b = rng.random(60), rng.random(60)
    assert bootstrap(a) == bootstrap(a)
    assert bootstrap(a) != bootstrap(a, seed=1)
    assert paired_test(a, b) == paired_test(a, b)
    assert paired_test(a, b) != paired_test(a, b, seed=1)


def test_clear_difference_has_the_smallest_p() -> None:
    a = np.random.default_rng(11).random(100)
    assert paired_test(a + 0.2, a) == 1 / 10_001


def test_p_is_exact_for_few_queries() -> None:
    # 2 of the 8 signs of three equal differences are as extreme as the observed one
    assert paired_test([0.3, 0.3, 0.3], [0.0, 0.0, 0.0]) == pytest.approx(2 / 8, abs=0.02)
    # |±4 ±2 ±1| ≥ 5 in 4 of 8 ways
    assert paired_test([4.0, 2.0, 0.0], [0.0, 0.0, 1.0]) == pytest.approx(4 / 8, abs=0.02)


def test_equal_sums_count_despite_rounding() -> None:
    # the observed difference is 0.1, the minimum, but some signs give 0.1 minus a rounding error
    assert paired_test([0.1, 0.2, 0.3, 0.0], [0.0, 0.0, 0.0, 0.5]) == 1


def test_p_is_uniform_without_a_difference() -> None:
    rng = np.random.default_rng(12)
    p = np.array([paired_test(*rng.random((2, 40)), samples=400) for _ in range(400)])
    for level in (0.05, 0.25, 0.5, 0.75):
        assert (p <= level).mean() == pytest.approx(level, abs=0.06)


def test_p_is_symmetric() -> None:
    rng = np.random.default_rng(13)
    a, b = rng.random((2, 70))
    groups = [f"g{number % 9}" for number in range(70)]
    assert paired_test(a, b) == paired_test(b, a)
    assert paired_test(a, b, groups=groups) == paired_test(b, a, groups=groups)


def test_equal_values_have_p_one() -> None:
    assert paired_test([0.5, 0.25], [0.5, 0.25]) == 1


def test_clustered_differences_need_groups() -> None:
    rng = np.random.default_rng(14)
    plain: list[float] = []
    grouped: list[float] = []
    for _ in range(100):
        values, groups = clustered(rng, groups=12)
        plain.append(paired_test(values, np.zeros_like(values), samples=500))
        grouped.append(paired_test(values, np.zeros_like(values), groups=groups, samples=500))
    assert np.mean(np.array(plain) < 0.05) > 0.3
    assert np.mean(np.array(grouped) < 0.05) < 0.12


def test_memory_is_bounded() -> None:
    a, b = np.random.default_rng(15).random((2, 20_000))
    tracemalloc.start()
    try:
        bootstrap(a, samples=1500)
        paired_test(a, b, samples=3000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # unchunked, 1500 × 20,000 indices or 3000 × 20,000 signs of 8 bytes would take 240 and 480 MB
    assert peak < 150e6


@pytest.mark.parametrize("level", [0, 1, 95])
def test_level_must_be_between_zero_and_one(level: float) -> None:
    with pytest.raises(ValueError, match=f"level must .* not {level}"):
        bootstrap([0.0, 1.0], level=level)


def test_invalid_values_are_errors() -> None:
    with pytest.raises(ValueError, match="non-empty list of numbers"):
        bootstrap([])
    with pytest.raises(ValueError, match="finite, not nan"):
        bootstrap([0.5, math.nan])
    with pytest.raises(ValueError, match="2 values, 1 groups"):
        bootstrap([0.5, 0.5], groups=["a"])
    with pytest.raises(ValueError, match="not 1 and 2"):
        paired_test([0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="samples must be at least 1"):
        paired_test([0.5], [0.25], samples=0)


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
