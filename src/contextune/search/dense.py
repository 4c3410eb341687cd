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
    positions = np.arange(len(scores)) if visible is None else np.flatnonzero(visible)
    values = scores[positions]
    if np.isnan(values).any():
        raise ValueError(f"the score at position {int(positions[np.isnan(values)][0])} is NaN")
    if 0 < k < len(values):
        # keep everything tied with the k-th score: the partition picks among ties at random
        enough = values >= np.partition(values, len(values) - k)[len(values) - k]
        positions, values = positions[enough], values[enough]
    return positions[np.argsort(-values, kind="stable")[:k]]
