"""Dense search, exact: one user's items fit into one matrix product, so no approximate index is needed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def similarities(query: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of `query` with each row of `matrix`; both hold unit vectors, so a dot product is enough."""
    if query.ndim != 1 or matrix.ndim != 2 or matrix.shape[1] != len(query):
        raise ValueError(
            f"a query of shape {query.shape} cannot meet a matrix of shape {matrix.shape}: (d,) and (n, d) do"
        )
    # not by BLAS: its threads spin on after a large product, and slow down the embedding that comes next
    return np.einsum("ij,j->i", matrix, query)


def top(
    scores: NDArray[np.floating[Any]], k: int, *, visible: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """The places of the `k` best visible scores, best first; of equal scores the lower place comes first.

    Fewer where fewer are visible.
    """
    if k < 0:
        raise ValueError(f"k must not be negative, but is {k!r}")
    if scores.ndim != 1 or (visible is not None and visible.shape != scores.shape):
        raise ValueError(
            f"scores of shape {scores.shape} must be one row, with a `visible` of the same shape or None"
        )
    places = np.arange(len(scores)) if visible is None else np.flatnonzero(visible)
    values = scores[places]
    if np.isnan(values).any():
        raise ValueError(f"the score at {int(places[np.isnan(values)][0])} is NaN, which has no rank")
    if 0 < k < len(values):
        # everything tied with the last one stays in, or the partition would choose among them at random
        enough = values >= np.partition(values, len(values) - k)[len(values) - k]
        places, values = places[enough], values[enough]
    return places[np.argsort(-values, kind="stable")[:k]]
