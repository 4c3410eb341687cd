"""RowVectors: one vector per row, of which a few can be replaced without copying the others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.row_mapping import RowMapping
from contextune.embed import Matrix
from contextune.search import similarities

_BLOCK_ROWS = 512
"""Rows that stay in the processor's cache while several vectors are compared with them."""
_MAX_UNUSED = 1 / 8
"""Share of stored vectors without a row, and of vectors outside the large matrix, before all are copied."""


@dataclass(frozen=True, eq=False)
class RowVectors:
    """A matrix of which a few rows are moved, removed or replaced. Immutable."""

    base: Matrix
    more: Matrix
    """Vectors added since `base` was made."""
    order: NDArray[np.int64] | None = None
    """For each row its position in `base`, or after it in `more`; None if `base` is in order."""
    shared: int = 0
    """So many rows of `base` are there for another matrix only; the first of `more` take their place."""

    @classmethod
    def from_matrix(cls, matrix: Matrix) -> "RowVectors":
        """The rows of a matrix."""
        return cls(matrix, matrix[:0])

    @classmethod
    def sharing(cls, matrix: Matrix, rows: NDArray[np.integer], vectors: Matrix) -> "RowVectors":
        """The rows of a matrix that serves others too, with other vectors for some rows."""
        order = np.arange(len(matrix))
        order[rows] = len(matrix) + np.arange(len(rows))
        return cls(matrix, vectors, order, len(rows)) if len(rows) else cls.from_matrix(matrix)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.base) if self.order is None else len(self.order)

    @property
    def matrix(self) -> Matrix:
        """All rows; a copy after a change."""
        if self.order is None:
            return self.base
        return self.take(np.arange(len(self)))

    def take(self, rows: NDArray[np.integer] | Sequence[int]) -> Matrix:
        """Some rows."""
        rows = np.asarray(rows, np.intp)
        if self.order is None:
            return self.base[rows]
        positions = self.order[rows]
        result = np.empty((len(rows), self.base.shape[1]), self.base.dtype)
        in_base = positions < len(self.base)
        result[in_base] = self.base[positions[in_base]]
        result[~in_base] = self.more[positions[~in_base] - len(self.base)]
        return result

    def similarities(self, queries: Sequence[Matrix]) -> NDArray[np.float64]:
        """Similarity of each query to each row.

        Block by block: for a large store, reading the vectors takes longer than multiplying them.
        """
        size = len(self.base)
        result = np.empty((len(queries), size + len(self.more)))
        for start in range(0, size, _BLOCK_ROWS):
            block = slice(start, min(start + _BLOCK_ROWS, size))
            for number, query in enumerate(queries):
                result[number, block] = similarities(query, self.base[block])
        if len(self.more):
            for number, query in enumerate(queries):
                result[number, size:] = similarities(query, self.more)
        return result if self.order is None else result[:, self.order]

    def replaced(self, rows: Sequence[int] | NDArray[np.intp], vectors: Matrix) -> "RowVectors":
        """The same rows with new vectors for some."""
        if not len(rows):
            return self
        order = np.arange(len(self)) if self.order is None else self.order.copy()
        order[rows] = len(self.base) + len(self.more) + np.arange(len(rows))
        return replace(self, more=np.concatenate([self.more, vectors]), order=order).compacted()

    def moved(self, mapping: RowMapping, vectors: Matrix) -> "RowVectors":
        """The rows after items have changed; `vectors` are those of the changed rows."""
        order = np.arange(len(self)) if self.order is None else self.order
        start = len(self.base) + len(self.more)
        added = start + np.arange(len(mapping.changed))
        more = np.concatenate([self.more, vectors]) if len(vectors) else self.more
        return replace(self, more=more, order=mapping.merge(order, added)).compacted()

    def compacted(self) -> "RowVectors":
        """One matrix in order, if much of the storage is unused or outside it; else the same."""
        stored = len(self.base) + len(self.more)
        limit = _MAX_UNUSED * stored + self.shared
        if self.order is None or (len(self.more) <= limit and stored - len(self) <= limit):
            return self
        return RowVectors.from_matrix(self.matrix)
