"""Dense search over very many rows: a graph of neighbours finds nearly all of the nearest, and looks at few.

The graph holds rows of one byte a number, which are small and quick to compare; whatever it finds is
compared once more by the rows as they are, so that scores and order are those of exact search.
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
"""How many rows a search keeps in sight; all of them are compared once more."""
_MANY = 100_000
"""From here on, twice as many."""
_CHUNK = 4096
_OFF_UNIT = 1e-3


class AnnIndex:
    """Finds most of the nearest rows of a matrix without looking at all of them.

    The matrix is kept and must not change. Safe to share between threads.
    """

    __slots__ = ("_graph", "_lock", "_matrix")

    def __init__(self, matrix: NDArray[np.float32], graph: object) -> None:
        """`build` and `load` make one."""
        self._matrix = matrix
        self._graph = cast("Any", graph)
        self._lock = Lock()  # the library leaves it open what becomes of two searches at once

    @classmethod
    def build(
        cls,
        matrix: NDArray[np.float32],
        *,
        threads: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """An index of the rows of `matrix`, which are of unit length.

        `threads` 0 takes one a core; with 1, the same matrix gives the same index every time. `progress`
        is told how many rows are in, of how many.
        """
        graph = _new_graph(_checked(matrix))
        for start in range(0, len(matrix), _CHUNK):
            part = np.ascontiguousarray(matrix[start : start + _CHUNK])
            graph.add(np.arange(start, start + len(part)), part, threads=threads)
            if progress:
                progress(start + len(part), len(matrix))
        return cls(matrix, graph)

    def __len__(self) -> int:
        """How many rows it holds."""
        return len(self._matrix)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes besides the matrix, and how large its file is."""
        return int(self._graph.serialized_length) if len(self) else 0

    def nearest(self, vector: NDArray[np.float32], k: int) -> NDArray[np.intp]:
        """The places of about the `k` rows nearest to `vector`, best first; fewer where there are fewer."""
        if k < 0:
            raise ValueError(f"k must not be negative, but is {k!r}")
        if vector.shape != self._matrix.shape[1:]:
            raise ValueError(
                f"a query of shape {vector.shape} cannot meet an index of shape {self._matrix.shape}"
            )
        if not np.isfinite(vector).all():
            raise ValueError("the query holds a number that is not finite")
        if not k or not len(self):
            return np.empty(0, np.intp)
        with self._lock:
            found = self._graph.search(vector, min(max(2 * k, _effort(len(self))), len(self)), threads=1)
        places = np.sort(found.keys.astype(np.intp))  # in order, so that equal rows come as in exact search
        return places[top(similarities(vector, self._matrix[places]), k)]

    def save(self, path: str | Path) -> None:
        """Keep the index in a file, and beside it, in one that ends in `.json`, what it is an index of."""
        path = Path(path)
        fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            if len(self):
                self._graph.save(fresh)
            else:
                fresh.write_bytes(b"")
            about = _about(self._matrix, fresh)
            _beside(path).unlink(missing_ok=True)  # a graph never lies beside what was said of another
            fresh.replace(path)
            _beside(path).write_text(json.dumps(about), encoding="utf-8")
        except (OSError, RuntimeError) as error:
            fresh.unlink(missing_ok=True)
            raise StoreError(f"the index {str(path)!r} cannot be written: {error}") from error

    @classmethod
    def load(cls, path: str | Path, matrix: NDArray[np.float32]) -> Self:
        """The index kept in a file; refused if it is not one of exactly this matrix, or was damaged."""
        path = Path(path)
        graph = _new_graph(_checked(matrix))
        try:
            said = json.loads(_beside(path).read_text(encoding="utf-8"))
            # the library takes a damaged graph in and fails in a search, or not even there
            fits = said == _about(matrix, path)
            if fits and len(matrix):
                graph.load(path)
        except FileNotFoundError as error:
            raise StoreError(f"there is no index at {str(path)!r}: build one and save it there") from error
        except (OSError, ValueError, RuntimeError) as error:
            raise StoreError(f"the index {str(path)!r} cannot be read: build it anew") from error
        if not fits:
            raise StoreError(f"the index {str(path)!r} is of other vectors or damaged: build it anew")
        return cls(matrix, graph)


def _new_graph(matrix: NDArray[np.float32]) -> Any:
    try:
        from usearch.index import Index
    except ModuleNotFoundError:
        raise MissingExtraError("searching very many vectors", "big") from None
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


def _checked(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    if matrix.ndim != 2 or matrix.dtype != np.float32 or (len(matrix) and not matrix.shape[1]):
        raise ValueError(f"an index needs a matrix of float32, not {matrix.dtype} of shape {matrix.shape}")
    off = np.abs(np.einsum("ij,ij->i", matrix, matrix) - 1)
    if not (off < _OFF_UNIT).all():
        row = int(np.flatnonzero(~(off < _OFF_UNIT))[0])
        raise ValueError(f"row {row} is not of unit length: divide each row by its norm")
    return matrix


def _about(matrix: NDArray[np.float32], file: Path) -> dict[str, object]:
    with file.open("rb") as graph:
        checksum = file_digest(graph, "sha256").hexdigest()
    return {
        "version": _VERSION,
        "shape": list(matrix.shape),
        "vectors": sha256(np.ascontiguousarray(matrix).data).hexdigest(),
        "graph": checksum,
    }


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")
