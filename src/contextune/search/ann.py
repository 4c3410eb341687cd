"""Approximate nearest neighbours (usearch), re-ranked exactly.

The HNSW graph stores int8 vectors, which are small and fast to compare. Its results are scored again with the
float32 vectors, so that scores and order are those of exact search.
"""

import json
import os
from collections.abc import Callable
from hashlib import file_digest, sha256
from pathlib import Path
from threading import Lock
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from contextune.errors import MissingExtraError, StoreError
from contextune.search.dense import similarities, top

_VERSION = 1
_CONNECTIONS = 32
_EFFORT_ADD = 256
_EFFORT = 256
"""Candidates per search (HNSW expansion); all of them are re-ranked."""
_MANY = 100_000
"""Rows from which `_EFFORT` doubles."""
_CHUNK = 4096
_NORM_TOLERANCE = 1e-3


class AnnIndex:
    """Approximate nearest-neighbour index over the rows of a matrix.

    It keeps a reference to the matrix, which must not change. Safe to share between threads.
    """

    __slots__ = ("_graph", "_lock", "_matrix")

    def __init__(self, matrix: NDArray[np.float32], graph: object) -> None:
        """Use `build` or `load`."""
        self._matrix = matrix
        self._graph = cast("Any", graph)
        self._lock = Lock()  # usearch does not document concurrent searches as safe

    @classmethod
    def build(
        cls,
        matrix: NDArray[np.float32],
        *,
        threads: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Build an index over the rows of `matrix`, which must be of unit length.

        `threads=0` uses one thread per core; `threads=1` makes the index reproducible. `progress` is called
        with the number of rows added and the total.
        """
        graph = _new_graph(_check_matrix(matrix))
        for start in range(0, len(matrix), _CHUNK):
            part = np.ascontiguousarray(matrix[start : start + _CHUNK])
            graph.add(np.arange(start, start + len(part)), part, threads=threads)
            if progress:
                progress(start + len(part), len(matrix))
        return cls(matrix, graph)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._matrix)

    @property
    def nbytes(self) -> int:
        """Approximate size in memory, without the matrix, and on disk."""
        return int(self._graph.serialized_length) if len(self) else 0

    def nearest(self, vector: NDArray[np.float32], k: int) -> NDArray[np.intp]:
        """Positions of approximately the `k` nearest rows, best first; fewer if the index has fewer."""
        if k < 0:
            raise ValueError(f"k must not be negative: {k!r}")
        if vector.shape != self._matrix.shape[1:]:
            raise ValueError(
                f"query of shape {vector.shape} does not fit an index of shape {self._matrix.shape}"
            )
        if not np.isfinite(vector).all():
            raise ValueError("the query contains a number that is not finite")
        if not k or not len(self):
            return np.empty(0, np.intp)
        with self._lock:
            matches = self._graph.search(vector, min(max(2 * k, _effort(len(self))), len(self)), threads=1)
        positions = np.sort(matches.keys.astype(np.intp))  # sorted, so that ties come out as in exact search
        return positions[top(similarities(vector, self._matrix[positions]), k)]

    def save(self, path: str | Path) -> None:
        """Write the index to `path`, and its metadata (shape, checksums) to `path` + `.json`."""
        path = Path(path)
        fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            if len(self):
                self._graph.save(fresh)
            else:
                fresh.write_bytes(b"")
            metadata = _metadata(self._matrix, fresh)
            _metadata_file(path).unlink(missing_ok=True)  # never leave metadata of another graph
            fresh.replace(path)
            _metadata_file(path).write_text(json.dumps(metadata), encoding="utf-8")
        except (OSError, RuntimeError) as error:
            fresh.unlink(missing_ok=True)
            raise StoreError(f"cannot write the index {str(path)!r}: {error}") from error

    @classmethod
    def load(cls, path: str | Path, matrix: NDArray[np.float32]) -> Self:
        """Read an index from a file; raise `StoreError` if it is damaged or was built from another matrix."""
        path = Path(path)
        graph = _new_graph(_check_matrix(matrix))
        try:
            metadata = json.loads(_metadata_file(path).read_text(encoding="utf-8"))
            # usearch loads a damaged graph without an error, and fails in a search or returns nonsense
            fits = metadata == _metadata(matrix, path)
            if fits and len(matrix):
                graph.load(path)
        except FileNotFoundError as error:
            raise StoreError(f"no index at {str(path)!r}: build one and save it there") from error
        except (OSError, ValueError, RuntimeError) as error:
            raise StoreError(f"cannot read the index {str(path)!r}: build it again") from error
        if not fits:
            raise StoreError(f"the index {str(path)!r} is damaged or of other vectors: build it again")
        return cls(matrix, graph)


def _new_graph(matrix: NDArray[np.float32]) -> Any:
    try:
        from usearch.index import Index
    except ModuleNotFoundError:
        raise MissingExtraError("approximate nearest-neighbour search", "big") from None
    if not matrix.size:
        return None
    return cast("Any", Index)(
        ndim=matrix.shape[1],
        metric="ip",
        dtype="i8",
        connectivity=_CONNECTIONS,
        expansion_add=_EFFORT_ADD,
        expansion_search=_effort(len(matrix)),
        enable_key_lookups=False,
    )


def _effort(rows: int) -> int:
    return _EFFORT if rows < _MANY else 2 * _EFFORT


def _check_matrix(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    if matrix.ndim != 2 or matrix.dtype != np.float32 or (len(matrix) and not matrix.shape[1]):
        raise ValueError(f"an index needs a float32 matrix, not {matrix.dtype} of shape {matrix.shape}")
    off = np.abs(np.einsum("ij,ij->i", matrix, matrix) - 1)
    if not (off < _NORM_TOLERANCE).all():
        row = int(np.flatnonzero(~(off < _NORM_TOLERANCE))[0])
        raise ValueError(f"row {row} is not of unit length: normalize the rows")
    return matrix


def _metadata(matrix: NDArray[np.float32], file: Path) -> dict[str, object]:
    with file.open("rb") as graph:
        checksum = file_digest(graph, "sha256").hexdigest()
    return {
        "version": _VERSION,
        "shape": list(matrix.shape),
        "vectors": sha256(np.ascontiguousarray(matrix).data).hexdigest(),
        "graph": checksum,
    }


def _metadata_file(path: Path) -> Path:
    return path.with_name(path.name + ".json")
