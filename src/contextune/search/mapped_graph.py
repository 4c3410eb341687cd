"""HNSW graph in a memory-mapped file (usearch): built in parts, extended without a rebuild.

Unlike `AnnIndex`, it does not hold the vectors: callers score its results again with their own.
"""

import math
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.errors import MissingExtraError, StoreError

CONNECTIONS = 32
EFFORT_ADD = 128
EFFORT = 640
"""Candidates per search (HNSW expansion) of a graph of 100,000 rows; larger ones need more."""
_ROWS_PER_EFFORT = 100_000
_CHUNK = 8192


class MappedGraph:
    """Approximate nearest neighbours among int8 copies of vectors, by row number. Thread-safe."""

    def __init__(self, graph: Any, rows: int) -> None:
        """Use `open`."""
        self._graph = graph
        self._rows = rows
        self._lock = Lock()  # usearch does not document concurrent searches as safe

    @classmethod
    def open(cls, path: Path, dimension: int, rows: int) -> "MappedGraph":
        """Map a graph; the caller has verified the file, since a damaged one can crash the process."""
        graph = _new_graph(dimension)
        try:
            graph.view(os.fspath(path))
        except (OSError, RuntimeError) as error:
            raise StoreError(f"cannot read the graph {str(path)!r}: build the index again") from error
        if len(graph) != rows:
            raise StoreError(f"the graph {str(path)!r} is of other vectors: build the index again")
        return cls(graph, rows)

    def __len__(self) -> int:
        """The number of rows."""
        return self._rows

    @property
    def effort(self) -> int:
        """Candidates per search: twice as many for ten times the rows."""
        return int(EFFORT * (1 + max(0.0, math.log10(max(1, self._rows) / _ROWS_PER_EFFORT))))

    def nearest(
        self, vector: NDArray[np.float32], count: int = 0
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """About the `count` nearest rows, `effort` if 0, nearest first; distances are of the int8 copies."""
        count = min(count or self.effort, self._rows)
        with self._lock:  # usearch looks at `count` candidates if that is more than `expansion_search`
            matches = self._graph.search(vector, count, threads=1)
        return matches.keys.astype(np.intp), matches.distances


def write_graph(
    path: Path,
    vectors: NDArray[np.float16],
    *,
    base: Path | None = None,
    first: int = 0,
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Build a graph of the rows of `vectors` from `first` on, added to those of the graph `base`.

    `threads=0` uses one thread per core; `threads=1` makes the graph reproducible.
    """
    graph = _new_graph(vectors.shape[1])
    if base is not None:
        graph.load(os.fspath(base))
    if progress:
        progress(first, len(vectors))
    for start in range(first, len(vectors), _CHUNK):
        part = vectors[start : start + _CHUNK].astype(np.float32)
        graph.add(np.arange(start, start + len(part)), part, threads=threads)
        if progress:
            progress(start + len(part), len(vectors))
    try:
        graph.save(os.fspath(path))
    except (OSError, RuntimeError) as error:
        raise StoreError(f"cannot write the graph {str(path)!r}: {error}") from error


def _new_graph(dimension: int) -> Any:
    try:
        from usearch.index import Index
    except ModuleNotFoundError:
        raise MissingExtraError("approximate nearest-neighbour search", "big") from None
    return cast("Any", Index)(
        ndim=dimension,
        metric="ip",
        dtype="i8",
        connectivity=CONNECTIONS,
        expansion_add=EFFORT_ADD,
        expansion_search=EFFORT,
        enable_key_lookups=False,
    )
