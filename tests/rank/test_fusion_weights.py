"""Grid search for fusion weights."""

import numpy as np
import pytest

from contextune.rank import FusionWeights


def test_list_of_weight_zero_is_ignored() -> None:
    lists = {"good": np.array([3.0, 2.0, 1.0]), "bad": np.array([1.0, 2.0, 3.0])}
    fused = FusionWeights({"good": 1.0, "bad": 0.0}, 60).fuse(lists)
    assert np.argsort(-fused).tolist() == [0, 1, 2]
    np.testing.assert_allclose(fused, [1 / 61, 1 / 62, 1 / 63])


def test_equal_scores_share_a_rank() -> None:
    fused = FusionWeights({"only": 1.0}, 60).fuse({"only": np.array([1.0, 1.0, 0.0])})
    assert fused[0] == fused[1] > fused[2]


def test_better_list_gets_the_weight() -> None:
    random = np.random.default_rng(0)
    examples: list[tuple[dict[str, np.ndarray], np.ndarray]] = []
    for _ in range(40):
        grades = np.zeros(15, np.int64)
        grades[random.integers(15)] = 1
        examples.append(
            ({"signal": grades + random.normal(0, 0.1, 15), "noise": random.normal(size=15)}, grades)
        )
    chosen = FusionWeights.choose(examples, {"signal": (0.0, 1.0), "noise": (1.0, 0.0)}, (60.0,))
    assert chosen.weights == {"signal": 1.0, "noise": 0.0}


def test_examples_of_different_sizes() -> None:
    small = ({"x": np.array([1.0, 0.0])}, np.array([1, 0]))
    large = ({"x": np.arange(30.0)}, np.eye(1, 30, 0, dtype=np.int64)[0])
    chosen = FusionWeights.choose([small, large], {"x": (1.0,)}, (2.0,))
    assert chosen.k == 2.0


def test_empty_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="grid is empty"):
        FusionWeights.choose([({"x": np.ones(2)}, np.array([1, 0]))], {"x": ()}, (2.0,))
