"""Logistic regression: separation, calibration, missing inputs."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from contextune.errors import RankerError
from contextune.rank import LogisticRegression

NAMES = ("signal", "noise")
Floats = NDArray[np.float64]


def true_probability(rows: Floats) -> Floats:
    return 1 / (1 + np.exp(-1.5 * rows[:, 0]))


def sample(count: int, seed: int = 0) -> tuple[Floats, NDArray[np.bool_]]:
    """Rows whose label depends on the first input only; half of the labels are positive."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, 2)) * (1.0, 50.0)
    return rows, random.uniform(size=count) < true_probability(rows)


@pytest.fixture(scope="module")
def model() -> LogisticRegression:
    rows, labels = sample(20_000)
    return LogisticRegression.fit(rows, labels, NAMES)


def test_separable_classes_are_separated() -> None:
    random = np.random.default_rng(1)
    labels = np.arange(200) % 2 == 0
    rows = random.normal(size=(200, 2))
    rows[:, 0] = np.where(labels, 5, -5) + random.uniform(-1, 1, 200)
    probabilities = LogisticRegression.fit(rows, labels, NAMES).probability(rows)
    assert (probabilities[labels] > 0.95).all()
    assert (probabilities[~labels] < 0.05).all()


def test_probabilities_are_calibrated(model: LogisticRegression) -> None:
    rows, labels = sample(20_000, seed=2)
    probabilities = model.probability(rows)
    assert ((probabilities > 0) & (probabilities < 1)).all()
    for low in np.arange(0.1, 0.9, 0.1):
        bucket = (probabilities >= low) & (probabilities < low + 0.1)
        assert bucket.sum() > 500
        assert labels[bucket].mean() == pytest.approx(probabilities[bucket].mean(), abs=0.04)
    np.testing.assert_allclose(probabilities, true_probability(rows), atol=0.03)


def test_probability_grows_with_the_signal(model: LogisticRegression) -> None:
    rows = np.stack([np.linspace(-5, 5, 50), np.zeros(50)], axis=1)
    assert (np.diff(model.probability(rows)) > 0).all()


def test_class_imbalance_does_not_shift_probabilities(model: LogisticRegression) -> None:
    rows, labels = sample(20_000)
    kept = labels | (np.arange(len(labels)) % 10 == 0)  # a tenth of the negatives
    fewer = LogisticRegression.fit(rows[kept], labels[kept], NAMES)
    middle = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_allclose(fewer.probability(middle), model.probability(middle), atol=0.05)


def test_missing_input_counts_as_the_mean(model: LogisticRegression) -> None:
    missing = model.probability(np.array([[np.nan, np.nan]]))
    np.testing.assert_allclose(missing, model.probability(model.mean[None]))
    rows, labels = sample(2000)
    rows[::3, 0] = np.nan
    assert LogisticRegression.fit(rows, labels, NAMES).weights[0] > 0.5


@pytest.mark.filterwarnings("error")
def test_constant_and_missing_inputs_get_no_weight() -> None:
    rows, labels = sample(500)
    empty = np.column_stack([rows, np.full(500, np.nan), np.full(500, 2.5)])
    model = LogisticRegression.fit(empty, labels, (*NAMES, "never known", "always the same"))
    np.testing.assert_allclose(model.weights[2:], 0, atol=1e-6)
    known = empty.copy()
    known[:, 2] = 7.0
    np.testing.assert_allclose(model.probability(known), model.probability(empty), atol=1e-3)


@pytest.mark.parametrize("labels", [[True] * 4, [False] * 4, []])
def test_single_class_is_refused(labels: list[bool]) -> None:
    with pytest.raises(RankerError, match="only one class"):
        LogisticRegression.fit(np.zeros((len(labels), 2)), np.array(labels, bool), NAMES)


def test_round_trip_through_json(model: LogisticRegression) -> None:
    written = json.dumps(model.to_json())
    again = LogisticRegression.from_json(json.loads(written), NAMES)
    rows, _ = sample(200, seed=3)
    np.testing.assert_allclose(again.probability(rows), model.probability(rows), atol=1e-4)
    assert json.dumps(again.to_json()) == written


@pytest.mark.parametrize("names", [("signal",), ("noise", "signal"), ("signal", "noise", "more"), ()])
def test_json_with_other_inputs_is_refused(model: LogisticRegression, names: tuple[str, ...]) -> None:
    with pytest.raises(RankerError, match=r"other inputs.*train it again"):
        LogisticRegression.from_json(model.to_json(), names)


def test_weights_count_rows_within_their_class() -> None:
    draw = np.random.default_rng(5)
    rows = draw.normal(size=(60, 2))
    labels = rows[:, 0] + draw.normal(size=60) > 0
    counts = draw.integers(1, 4, 60)
    repeated = LogisticRegression.fit(np.repeat(rows, counts, axis=0), np.repeat(labels, counts), ("a", "b"))
    weighted = LogisticRegression.fit(rows, labels, ("a", "b"), weights=counts.astype(np.float64))
    plain = LogisticRegression.fit(rows, labels, ("a", "b"))
    # both are standardized by other means, so compare what they predict
    np.testing.assert_allclose(weighted.probability(rows), repeated.probability(rows), atol=0.01)
    assert not np.allclose(plain.probability(rows), repeated.probability(rows), atol=0.01)
