"""Scores by LightGBM's C interface."""

import numpy as np
import pytest

from contextune.errors import RankerError
from contextune.rank import Ranker
from contextune.rank.booster import Booster
from contextune.tools.ranker import default_tool_ranker


@pytest.fixture(scope="module")
def ranker() -> Ranker:
    return default_tool_ranker().model


def test_rows_are_scored_one_by_one(ranker: Ranker) -> None:
    matrix = np.random.default_rng(7).normal(size=(30, len(ranker.names))).astype(np.float32)
    alone = [float(ranker.score(row[None])[0]) for row in matrix]
    assert ranker.score(matrix).tolist() == alone
    assert ranker.score(matrix[:0]).shape == (0,)


def test_model_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(RankerError, match="train it again"):
        Booster("tree\nthis is no model")
