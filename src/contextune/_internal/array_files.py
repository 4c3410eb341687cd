"""Files of NumPy arrays, read by one thread at a time.

NumPy parses their headers with `ast.literal_eval`. In Python 3.11, two threads that parse at once can end in
"SystemError: AST constructor recursion depth mismatch".
"""

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_PARSER = Lock()


def read_array(file: Path) -> NDArray[Any]:
    """The array of an `.npy` file."""
    with _PARSER:
        return np.load(file, allow_pickle=False)


def map_array(file: Path) -> NDArray[Any]:
    """A memory-mapped array as a plain one: slices of `np.memmap` are slow to create."""
    with _PARSER:
        return np.load(file, mmap_mode="r", allow_pickle=False).view(np.ndarray)


def read_arrays(file: Path | IO[bytes]) -> Mapping[str, NDArray[Any]]:
    """All arrays of an `.npz` file, by name."""
    with _PARSER, np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)
