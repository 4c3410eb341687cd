"""Exact dense search: one matrix product over all vectors of a user. For very many rows, see `ann`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def similarities(query: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosine similarity of `query` with each row of `matrix`; all vectors must be of unit length."""
    if query.ndim != 1 or matrix.ndim != 2 or matrix.shape[1] != len(query):
        raise ValueError(
            f"query of shape {query.shape} and matrix of shape {matrix.shape} do not fit: (d,), (n, d)"
        )
    # no BLAS: its threads keep spinning after a large product and slow down the next embedding
    return np.einsum("ij,j->i", matrix, query)


def top(
    scores: NDArray[np.floating[Any]], k: int, *, visible: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """Positions of the `k` best visible scores, best first; ties by position. Fewer if fewer are visible."""
    if k < 0:
        raise ValueError(f"k must not be negative: {k!r}")
    if scores.ndim != 1 or (visible is not None and visible.shape != scores.shape):
        raise ValueError(f"scores must have one dimension, and `visible` the same shape: {scores.shape}")
    positions = None if visible is None or visible.all() else np.flatnonzero(visible)
    values = scores if positions is None else scores[positions]
    if np.isnan(values).any():
        first = np.flatnonzero(np.isnan(values))[0]
        raise ValueError(
            f"the score at position {int(first if positions is None else positions[first])} is NaN"
        )
    if 0 < k < len(values):
        # keep everything tied with the k-th score: the partition picks among ties at random
        enough = np.flatnonzero(values >= np.partition(values, len(values) - k)[len(values) - k])
        positions, values = enough if positions is None else positions[enough], values[enough]
    order = np.argsort(-values, kind="stable")[:k]
    return order if positions is None else positions[order]
