"""Strings in two memory-mapped files: their bytes, and where each begins."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune._internal.array_files import map_array


class StringTable(Sequence[bytes]):
    """Read-only strings on disk; only those that are asked for are read."""

    def __init__(self, text: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self._text, self._ends = memoryview(cast("Any", text)), ends

    @classmethod
    def open(cls, folder: Path, name: str) -> "StringTable":
        """Map the files that `write` made."""
        return cls(map_array(folder / f"{name}_text.npy"), map_array(folder / f"{name}_ends.npy"))

    @staticmethod
    def write(folder: Path, name: str, strings: Iterable[bytes]) -> None:
        """Write strings to two files."""
        text = bytearray()
        ends: list[int] = []
        for string in strings:
            text += string
            ends.append(len(text))
        np.save(folder / f"{name}_text.npy", np.frombuffer(bytes(text), np.uint8))
        np.save(folder / f"{name}_ends.npy", np.array(ends, np.int64))

    def __len__(self) -> int:
        """The number of strings."""
        return len(self._ends)

    def __getitem__(self, index: int) -> bytes:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The string with this number."""
        start = int(self._ends[index - 1]) if index else 0
        return bytes(self._text[start : int(self._ends[index])])

    def take(self, indices: Sequence[int] | NDArray[np.intp]) -> list[bytes]:
        """The strings with these numbers."""
        numbers = np.asarray(indices, np.intp)
        starts = np.where(numbers > 0, self._ends[numbers - 1], 0).tolist()
        return [
            bytes(self._text[start:end])
            for start, end in zip(starts, self._ends[numbers].tolist(), strict=True)
        ]

    def __iter__(self) -> Iterator[bytes]:
        """All strings, in order."""
        start = 0
        for end in self._ends.tolist():
            yield bytes(self._text[start:end])
            start = end

    def find(self, string: bytes) -> int | None:
        """The number of a string in a sorted table."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self[middle] < string:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self[low] == string else None
