"""Files of arrays, read by many threads."""

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from contextune._internal.array_files import map_array, read_array, read_arrays


class _Garbage:
    """Lets other threads run when it is collected."""

    def __init__(self) -> None:
        self.circle = [self]
        self.older = [[number] for number in range(5)]  # it outlives a collection, and goes in a later one

    def __del__(self) -> None:
        time.sleep(0)


@pytest.fixture
def collect_often() -> Iterator[None]:
    """Collect garbage often, so that threads change inside the parser of headers."""
    before = gc.get_threshold()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)


def test_many_threads_read_at_once(tmp_path: Path, collect_often: None) -> None:
    array = np.arange(6).reshape(2, 3)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "b.npz", x=array, y=array[0])

    def read(number: int) -> bool:
        _Garbage()
        if number % 2:
            return np.array_equal(map_array(tmp_path / "a.npy"), read_array(tmp_path / "a.npy"))
        arrays = read_arrays(tmp_path / "b.npz")
        return arrays["x"].tolist() == array.tolist() and arrays["y"].tolist() == [0, 1, 2]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(600)))
