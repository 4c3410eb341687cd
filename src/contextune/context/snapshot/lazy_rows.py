"""Sequences whose values are made from arrays when they are read."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")


class LazySequence(Sequence[Value], Generic[Value]):
    """A sequence of a known size; equal to a list of the same values."""

    def __init__(self, size: int) -> None:
        self._size = size

    @abstractmethod
    def value(self, row: int) -> Value:
        """Make the value of a row, which is in range."""

    def __len__(self) -> int:
        """Number of rows."""
        return self._size

    @overload
    def __getitem__(self, row: int) -> Value: ...
    @overload
    def __getitem__(self, row: slice) -> list[Value]: ...
    def __getitem__(self, row: int | slice) -> Value | list[Value]:
        """The value of a row, or a list of those of a slice."""
        if type(row) is int and 0 <= row < self._size:  # nearly all calls
            return self.value(row)
        rows = range(self._size)[row]
        return self.value(rows) if isinstance(rows, int) else list(map(self.value, rows))

    def __iter__(self) -> Iterator[Value]:
        """The values by row."""
        return map(self.value, range(self._size))

    def __eq__(self, other: object) -> bool:
        """Whether the values are equal to those of another sequence."""
        return isinstance(other, Sequence) and list(self) == list(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # like a list


class ComputedRows(LazySequence[Value]):
    """Values that a function computes, each time they are read."""

    def __init__(self, size: int, compute: Callable[[int], Value]) -> None:
        super().__init__(size)
        self._compute = compute

    def value(self, row: int) -> Value:
        """Compute the value of a row."""
        return self._compute(row)


class WordRows(LazySequence[list[str]]):
    """The words of each row, as numbers of words in a table."""

    def __init__(self, words: Sequence[str], numbers: NDArray[np.int32], ends: NDArray[np.int64]) -> None:
        """`ends` says where the numbers of each row end."""
        super().__init__(len(ends))
        self._words, self._numbers, self._ends = words, numbers, ends

    def value(self, row: int) -> list[str]:
        """The words of a row."""
        start = int(self._ends[row - 1]) if row else 0
        words = self._words
        numbers = cast("list[int]", self._numbers[start : self._ends[row]].tolist())
        return [words[number] for number in numbers]


class DigestRows(LazySequence[bytes]):
    """One digest per row."""

    def __init__(self, digests: NDArray[np.uint8]) -> None:
        """`digests` has a row of bytes for each digest."""
        super().__init__(len(digests))
        self._digests = digests

    def value(self, row: int) -> bytes:
        """The digest of a row."""
        return self._digests[row].tobytes()

    def __contains__(self, value: object) -> bool:
        """Whether a row has this digest."""
        return isinstance(value, bytes) and len(self._rows(value)) > 0

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The first row with this digest."""
        rows = self._rows(value)
        rows = rows[(rows >= start) & (rows < (len(self) if stop is None else stop))]
        if not len(rows):
            raise ValueError("no row has this digest")
        return int(rows[0])

    def _rows(self, digest: bytes) -> NDArray[np.intp]:
        if len(digest) != self._digests.shape[1]:
            return np.empty(0, np.intp)
        wanted = np.frombuffer(digest, np.uint8)
        rows = np.flatnonzero(self._digests[:, 0] == wanted[0])
        return rows[(self._digests[rows] == wanted).all(1)]
