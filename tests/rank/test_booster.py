"""Scores and contributions of trees, compared with those of LightGBM itself."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import lightgbm
import numpy as np
import pytest
from numpy.typing import NDArray

from contextune._internal.assets import asset, read_decompressed
from contextune.errors import RankerError
from contextune.rank import Ranker
from contextune.rank.booster import Booster
from contextune.rank.tree_model import TreeModel
from contextune.tools.ranker import default_tool_ranker

Values = NDArray[np.float32]


def bundled_models() -> Iterator[Any]:
    for file in sorted(asset("").rglob("*.json.gz")):
        models = json.loads(read_decompressed(file)).get("models", ())
        name = file.relative_to(asset("")).as_posix()
        yield from (pytest.param(model, id=f"{name}-{seed}") for seed, model in enumerate(models))


def hard_rows(model: TreeModel, count: int, seed: int = 0) -> Values:
    """Rows with missing values, zeros, values on both sides of zero, and values on and beside thresholds."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, model.features))
    for feature in range(model.features):
        if len(thresholds := model.threshold[model.feature == feature]):
            near = random.choice(thresholds, count) + random.choice([0, 0, 1e-3, -1e-3], count)
            rows[:, feature] = np.where(random.random(count) < 0.6, near, rows[:, feature])
    kind = random.random(rows.shape)
    rows[kind < 0.2] = np.nan
    rows[(kind >= 0.2) & (kind < 0.4)] = 0
    rows[(kind >= 0.4) & (kind < 0.43)] = 1e-36
    rows[(kind >= 0.43) & (kind < 0.46)] = -1e-36
    return rows.astype(np.float32)


def check_equal(text: str, rows: Values) -> None:
    original, booster = lightgbm.Booster(model_str=text), Booster(text)
    expected = np.asarray(original.predict(rows, num_threads=1))
    np.testing.assert_allclose(booster.predict(rows), expected, rtol=0, atol=1e-9)
    assert np.ptp(expected) > 0
    parts = np.asarray(original.predict(rows[:6], pred_contrib=True, num_threads=1))
    np.testing.assert_allclose(booster.contributions(rows[:6]), parts, rtol=0, atol=1e-9)


@pytest.mark.parametrize("text", list(bundled_models()))
def test_bundled_models_score_as_lightgbm_does(text: str) -> None:
    check_equal(text, hard_rows(TreeModel.parse(text), 200))


def train(values: Values, labels: NDArray[Any], **parameters: Any) -> str:
    settings = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5, "num_leaves": 9, **parameters}
    return cast("Any", lightgbm).train(settings, lightgbm.Dataset(values, labels), 12).model_to_string()


@pytest.mark.parametrize(
    "parameters",
    [
        {"objective": "regression"},
        {"objective": "regression", "zero_as_missing": True},
        {"objective": "regression", "use_missing": False},
        {"objective": "binary", "sigmoid": 1.7},
    ],
    ids=lambda parameters: ",".join(f"{name}={value}" for name, value in parameters.items()),
)
def test_missing_values_are_treated_as_lightgbm_does(parameters: dict[str, Any]) -> None:
    random = np.random.default_rng(3)
    values = random.normal(size=(600, 5)).astype(np.float32)
    values[random.random(values.shape) < 0.3] = 0
    values[random.random(values.shape) < 0.2] = np.nan
    signal = np.nan_to_num(values[:, 0], nan=1.5) - np.where(values[:, 1] == 0, 2, values[:, 2] > 0.3)
    labels = signal > 0 if parameters["objective"] == "binary" else signal
    text = train(values, labels, **parameters)
    model = TreeModel.parse(text)
    assert model.has_zero_missing == parameters.get("zero_as_missing", False)
    check_equal(text, hard_rows(model, 300))


def test_trees_of_a_single_leaf_add_a_constant() -> None:
    values = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    text = train(values, np.full(50, 3.5), objective="regression")
    booster = Booster(text)
    np.testing.assert_allclose(booster.predict(values[:4]), 3.5)
    np.testing.assert_allclose(booster.contributions(values[:4]), [[0, 0, 3.5]] * 4)


@pytest.mark.parametrize("parameters", [{"objective": "quantile"}, {"linear_tree": True}])
def test_model_that_cannot_be_evaluated_is_refused(parameters: dict[str, Any]) -> None:
    values = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    with pytest.raises(RankerError, match="not supported; train it again"):
        Booster(train(values, values[:, 0].copy(), **{"objective": "regression", **parameters}))


def test_categorical_splits_are_refused() -> None:
    values = np.random.default_rng(0).integers(0, 3, (60, 1)).astype(np.float32)
    data = lightgbm.Dataset(values, values[:, 0] == 1, categorical_feature=[0])
    settings = {"verbosity": -1, "min_data_in_leaf": 2, "min_data_per_group": 2}
    text = cast("Any", lightgbm).train(settings, data, 2).model_to_string()
    with pytest.raises(RankerError, match="categorical splits"):
        Booster(text)


@pytest.fixture(scope="module")
def ranker() -> Ranker:
    return default_tool_ranker().model


def test_rows_are_scored_one_by_one(ranker: Ranker) -> None:
    matrix = np.random.default_rng(7).normal(size=(30, len(ranker.names))).astype(np.float32)
    alone = [float(ranker.score(row[None])[0]) for row in matrix]
    assert ranker.score(matrix).tolist() == alone
    assert ranker.score(matrix[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tree\n", "tree\nthis is no model\n"),
        ("\nend of trees", ""),
        ("num_leaves=", "num_leaves=9"),
        ("left_child=", "left_child=5 "),
        ("threshold=", "threshold=zero "),
    ],
)
def test_damaged_model_is_an_error(ranker: Ranker, old: str, new: str) -> None:
    damaged = ranker.models[0].replace(old, new, 1)
    if old == "tree\n":
        damaged = new
    with pytest.raises(RankerError, match="train it again"):
        Booster(damaged)


def test_pickled_booster_scores_the_same(ranker: Ranker, tmp_path: Path) -> None:
    booster = Booster(ranker.models[0])
    rows = hard_rows(TreeModel.parse(ranker.models[0]), 5)
    before = booster.predict(rows)
    (tmp_path / "booster").write_bytes(pickle.dumps(booster))
    again: Booster = pickle.loads((tmp_path / "booster").read_bytes())
    np.testing.assert_array_equal(again.predict(rows), before)
