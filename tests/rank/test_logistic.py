"""A probability from a few numbers: right where it can be, honest where it cannot."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from contextune.errors import RankerError
from contextune.rank import LogisticRegression

NAMES = ("signal", "noise")
Floats = NDArray[np.float64]


def chance(rows: Floats) -> Floats:
    return 1 / (1 + np.exp(-1.5 * rows[:, 0]))


def drawn(count: int, seed: int = 0) -> tuple[Floats, NDArray[np.bool_]]:
    """Rows of which the first number decides, by chance, and the second does not; half of them are yes."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, 2)) * (1.0, 50.0)
    return rows, draw.uniform(size=count) < chance(rows)


@pytest.fixture(scope="module")
def model() -> LogisticRegression:
    rows, labels = drawn(20_000)
    return LogisticRegression.fit(rows, labels, NAMES)


def test_what_can_be_told_apart_is() -> None:
    draw = np.random.default_rng(1)
    labels = np.arange(200) % 2 == 0
    rows = draw.normal(size=(200, 2))
    rows[:, 0] = np.where(labels, 5, -5) + draw.uniform(-1, 1, 200)
    found = LogisticRegression.fit(rows, labels, NAMES).probability(rows)
    assert (found[labels] > 0.95).all()
    assert (found[~labels] < 0.05).all()


def test_of_those_given_a_probability_that_share_is_a_yes(model: LogisticRegression) -> None:
    rows, labels = drawn(20_000, seed=2)
    found = model.probability(rows)
    assert ((found > 0) & (found < 1)).all()
    for low in np.arange(0.1, 0.9, 0.1):
        given = (found >= low) & (found < low + 0.1)
        assert given.sum() > 500
        assert labels[given].mean() == pytest.approx(found[given].mean(), abs=0.04)
    np.testing.assert_allclose(found, chance(rows), atol=0.03)


def test_more_of_what_speaks_for_yes_is_never_less_probable(model: LogisticRegression) -> None:
    rows = np.stack([np.linspace(-5, 5, 50), np.zeros(50)], axis=1)
    assert (np.diff(model.probability(rows)) > 0).all()


def test_yes_and_no_weigh_the_same_however_many_there_are(model: LogisticRegression) -> None:
    rows, labels = drawn(20_000)
    kept = labels | (np.arange(len(labels)) % 10 == 0)  # a tenth of the noes
    fewer = LogisticRegression.fit(rows[kept], labels[kept], NAMES)
    middle = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_allclose(fewer.probability(middle), model.probability(middle), atol=0.05)


def test_what_is_missing_counts_as_the_mean(model: LogisticRegression) -> None:
    missing = model.probability(np.array([[np.nan, np.nan]]))
    np.testing.assert_allclose(missing, model.probability(model.mean[None]))
    rows, labels = drawn(2000)
    rows[::3, 0] = np.nan
    assert LogisticRegression.fit(rows, labels, NAMES).weights[0] > 0.5


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
def test_what_says_nothing_has_no_say() -> None:
    rows, labels = drawn(500)
    empty = np.column_stack([rows, np.full(500, np.nan), np.full(500, 2.5)])
    model = LogisticRegression.fit(empty, labels, (*NAMES, "never known", "always the same"))
    np.testing.assert_allclose(model.weights[2:], 0, atol=1e-6)
    known = empty.copy()
    known[:, 2] = 7.0
    np.testing.assert_allclose(model.probability(known), model.probability(empty), atol=1e-3)


@pytest.mark.parametrize("labels", [[True] * 4, [False] * 4, []])
def test_one_sort_of_example_is_refused(labels: list[bool]) -> None:
    with pytest.raises(RankerError, match="both yes and no"):
        LogisticRegression.fit(np.zeros((len(labels), 2)), np.array(labels, bool), NAMES)


def test_it_comes_back_from_json(model: LogisticRegression) -> None:
    written = json.dumps(model.to_json())
    again = LogisticRegression.from_json(json.loads(written), NAMES)
    rows, _ = drawn(200, seed=3)
    np.testing.assert_allclose(again.probability(rows), model.probability(rows), atol=1e-4)
    assert json.dumps(again.to_json()) == written


@pytest.mark.parametrize("names", [("signal",), ("noise", "signal"), ("signal", "noise", "more"), ()])
def test_other_inputs_are_refused(model: LogisticRegression, names: tuple[str, ...]) -> None:
    with pytest.raises(RankerError, match=r"other inputs.*train it again"):
        LogisticRegression.from_json(model.to_json(), names)
