"""Scores by LightGBM's C interface: threads share the rows of a matrix, and change no score."""

import numpy as np
import pytest

from contextune._internal.threads import THREADS_VARIABLE
from contextune.errors import RankerError
from contextune.rank import Ranker
from contextune.rank.booster import Booster
from contextune.tools.ranker import default_tool_ranker


@pytest.fixture(scope="module")
def ranker() -> Ranker:
    return default_tool_ranker().model


@pytest.mark.parametrize("rows", [0, 1, 23, 24, 100])
def test_threads_change_no_score(ranker: Ranker, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    features = len(ranker.names)
    matrix = np.random.default_rng(7).normal(size=(rows, features)).astype(np.float32)
    monkeypatch.setenv(THREADS_VARIABLE, "1")
    alone, reasons = ranker.score(matrix), ranker.contributions(matrix)
    monkeypatch.setenv(THREADS_VARIABLE, "4")
    assert (ranker.score(matrix) == alone).all()
    assert (ranker.contributions(matrix) == reasons).all()


def test_model_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(RankerError, match="train it again"):
        Booster("tree\nthis is no model")
