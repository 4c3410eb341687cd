"""Samples of labelled data and of random sequences, which take long as a whole.

CONTEXTUNE_TEST_DATA=all in the environment takes all rows, as the release does.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

ALL = os.environ.get("CONTEXTUNE_TEST_DATA") == "all"
_Row = TypeVar("_Row")


def sample(rows: Sequence[_Row], step: int, first: int = 0) -> Sequence[_Row]:
    """Every `step`-th row from `first` on."""
    return rows if ALL else rows[first::step]
