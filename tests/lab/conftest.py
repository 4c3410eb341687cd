"""Fixtures of all lab tests."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def single_threaded_training() -> Iterator[None]:
    """Train LightGBM with one thread: on a busy machine, two threads mostly wait for each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("contextune.rank.lambdamart._THREADS", 1)
        yield
