"""RowMapping: rows of the current items and of those before a change, to update columns incrementally."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class RowMapping:
    """Maps the rows of the current items to the rows before a change."""

    source: Numbers
    """For each row its previous row; changed rows are numbered -1, -2, … in order."""
    changed: list[int]
    """Rows of new or changed items."""

    @classmethod
    def from_previous_rows(cls, previous: Sequence[int] | Numbers) -> "RowMapping":
        """`previous` has for each row its previous row, or -1 if the item is new or changed."""
        source = np.array(previous, np.int64)
        changed = np.flatnonzero(source < 0)
        source[changed] = -1 - np.arange(len(changed))
        return cls(source, changed.tolist())

    @classmethod
    def from_edits(cls, size: int, removed: Sequence[int], inserted: Sequence[int]) -> "RowMapping":
        """Remove some of `size` rows; insert a new row before each previous row of `inserted`, ascending."""
        kept = np.ones(size + 1, np.bool_)
        kept[[*removed, size]] = False
        # a new row before previous row n comes after all kept rows below n
        positions = np.concatenate([[0], np.cumsum(kept)[:-1]])[np.asarray(inserted, np.intp)]
        return cls.from_previous_rows(np.insert(np.flatnonzero(kept), positions, -1))

    @property
    def previous_rows(self) -> Numbers:
        """For each row its previous row, or -1."""
        return np.maximum(self.source, -1)

    def current_rows(self, size: int) -> Numbers:
        """For each of `size` previous rows its row now, or -1 if it was removed or changed."""
        rows = np.full(size, -1, np.int64)
        kept = self.source >= 0
        rows[self.source[kept]] = np.flatnonzero(kept)
        return rows

    def part(self, rows: slice, previous_start: int) -> "RowMapping":
        """The mapping of some rows, whose previous rows are counted from `previous_start`."""
        previous = self.previous_rows[rows]
        return RowMapping.from_previous_rows(np.where(previous < 0, -1, previous - previous_start))

    def keeps(self, rows: slice, previous: slice) -> bool:
        """Whether these rows are exactly those previous rows."""
        start, stop = int(previous.start), int(previous.stop)
        return np.array_equal(self.source[rows], np.arange(start, stop))

    def merge(self, previous: NDArray[Any], changed: NDArray[Any]) -> NDArray[Any]:
        """The current column from the previous column and the values of the changed rows."""
        # the changed values are appended in reverse, so that index -1 is the first of them
        return np.concatenate([previous, changed[::-1]])[self.source]

    def merge_lists(self, previous: Sequence[Value], changed: Sequence[Value]) -> list[Value]:
        """`merge` for lists."""
        result: list[Value] = []
        for start, stop in self._runs:
            result += previous[start:stop] if start >= 0 else [changed[-1 - start]]
        return result

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        """Ranges of consecutive previous rows; a changed row is a range of its own."""
        ends = np.flatnonzero((np.diff(self.source) != 1) | (self.source[1:] <= 0)) + 1
        starts = [0, *ends.tolist()] if len(self.source) else []
        stops = [*ends.tolist(), len(self.source)]
        return [
            (int(self.source[start]), int(self.source[start]) + stop - start)
            for start, stop in zip(starts, stops, strict=bool(starts))
        ]
