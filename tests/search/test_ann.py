"""Approximate nearest neighbours against exact search, and index files."""

import builtins
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from contextune.errors import MissingExtraError, StoreError
from contextune.search import similarities, top
from contextune.search.ann import AnnIndex

Matrix = NDArray[np.float32]


def unit(rows: NDArray[np.float64]) -> Matrix:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def clustered(rows: int, width: int = 48, seed: int = 0) -> Matrix:
    """Rows in clusters, like embeddings of texts."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(40, width))
    return unit(centres[random.integers(0, 40, rows)] + 0.6 * random.normal(size=(rows, width)))


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return clustered(3000)


@pytest.fixture(scope="module")
def index(matrix: Matrix) -> AnnIndex:
    return AnnIndex.build(matrix, threads=1)


def exact(vector: Matrix, matrix: Matrix, k: int) -> list[int]:
    return top(similarities(vector, matrix), k).tolist()


def test_recall_against_exact_search(matrix: Matrix, index: AnnIndex) -> None:
    queries = clustered(100, seed=1)
    hits = [set(index.nearest(vector, 10).tolist()) for vector in queries]
    expected = [set(exact(vector, matrix, 10)) for vector in queries]
    assert np.mean([len(a & b) / 10 for a, b in zip(hits, expected, strict=True)]) > 0.98


def test_results_are_ordered_by_exact_similarity(matrix: Matrix, index: AnnIndex) -> None:
    vector = clustered(1, seed=2)[0]
    hits = index.nearest(vector, 50)
    assert hits.dtype == np.intp
    assert len(set(hits.tolist())) == 50
    scores = similarities(vector, matrix)[hits]
    assert (np.diff(scores) <= 0).all()
    assert index.nearest(matrix[123], 1).tolist() == [123]


def test_exact_reranking_separates_rows_that_int8_cannot() -> None:
    base = clustered(1, 384)[0].astype(np.float64)
    turned = np.eye(384)[:40] * np.linspace(1e-3, 4e-2, 40)[:, None]
    matrix = unit(base + turned)
    index = AnnIndex.build(matrix, threads=1)
    vector = unit(base)
    assert index.nearest(vector, 10).tolist() == exact(vector, matrix, 10)


def test_equal_rows_are_ordered_by_position() -> None:
    matrix = np.repeat(clustered(4), 5, axis=0)
    index = AnnIndex.build(matrix, threads=1)
    assert index.nearest(matrix[7], 5).tolist() == [5, 6, 7, 8, 9]


def test_k_larger_than_the_index(matrix: Matrix) -> None:
    few = AnnIndex.build(matrix[:7])
    assert sorted(few.nearest(matrix[0], 100).tolist()) == list(range(7))
    assert few.nearest(matrix[0], 0).tolist() == []
    one = AnnIndex.build(matrix[:1])
    assert one.nearest(-matrix[0], 3).tolist() == [0]


@pytest.mark.parametrize("width", [0, 48])
def test_empty_index(tmp_path: Path, width: int) -> None:
    empty = np.empty((0, width), np.float32)
    index = AnnIndex.build(empty)
    assert (len(index), index.nbytes) == (0, 0)
    assert index.nearest(np.ones(width, np.float32), 5).tolist() == []
    index.save(tmp_path / "empty")
    assert len(AnnIndex.load(tmp_path / "empty", empty)) == 0


def test_k_larger_than_the_expansion(matrix: Matrix, index: AnnIndex) -> None:
    hits = index.nearest(matrix[0], 500)
    assert len(set(hits.tolist())) == 500
    assert len(set(hits.tolist()) & set(exact(matrix[0], matrix, 500))) > 490


def test_single_threaded_build_is_reproducible(tmp_path: Path, matrix: Matrix) -> None:
    for name in "ab":
        AnnIndex.build(matrix[:500], threads=1).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_fortran_order_matrix(matrix: Matrix, index: AnnIndex) -> None:
    turned = np.asfortranarray(matrix)
    other = AnnIndex.build(turned, threads=1)
    queries = clustered(5, seed=3)
    for vector in queries:
        assert other.nearest(vector, 10).tolist() == index.nearest(vector, 10).tolist()


def test_progress_counts_every_row(matrix: Matrix) -> None:
    calls: list[tuple[int, int]] = []
    big = np.tile(matrix[:500, :8], (10, 1))
    AnnIndex.build(unit(big.astype(np.float64)), progress=lambda done, of: calls.append((done, of)))
    assert calls[-1] == (5000, 5000)
    assert len(calls) > 1
    assert calls == sorted(calls)


def test_threads_can_share_an_index(matrix: Matrix, index: AnnIndex) -> None:
    def positions(vector: Matrix) -> list[int]:
        return index.nearest(vector, 10).tolist()

    queries = list(clustered(200, seed=4))
    alone = [positions(vector) for vector in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(positions, queries)) == alone


def test_loaded_index_returns_the_same_results(tmp_path: Path, matrix: Matrix, index: AnnIndex) -> None:
    index.save(tmp_path / "tools.graph")
    again = AnnIndex.load(tmp_path / "tools.graph", matrix)
    assert len(again) == 3000
    for vector in clustered(20, seed=5):
        assert again.nearest(vector, 10).tolist() == index.nearest(vector, 10).tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tools.graph", "tools.graph.json"]
    metadata = json.loads((tmp_path / "tools.graph.json").read_text())
    assert metadata["shape"] == [3000, 48]


def test_saving_again_replaces_the_file(tmp_path: Path, matrix: Matrix) -> None:
    path = tmp_path / "tools.graph"
    AnnIndex.build(matrix[:20]).save(path)
    AnnIndex.build(matrix[:30]).save(path)
    assert len(AnnIndex.load(path, matrix[:30])) == 30
    with pytest.raises(StoreError, match="other vectors"):
        AnnIndex.load(path, matrix[:20])


def test_index_of_other_vectors_is_refused(tmp_path: Path, matrix: Matrix) -> None:
    path = tmp_path / "tools.graph"
    AnnIndex.build(matrix[:50]).save(path)
    changed = matrix[:50].copy()
    changed[31] = matrix[60]
    for other in (changed, matrix[:49], matrix[:50][::-1]):
        with pytest.raises(StoreError, match="damaged or of other vectors: build it again"):
            AnnIndex.load(path, other)
    AnnIndex.load(path, matrix[:50].copy())


def test_damaged_index_is_refused(tmp_path: Path, matrix: Matrix) -> None:
    path, metadata_file = tmp_path / "tools.graph", tmp_path / "tools.graph.json"
    AnnIndex.build(matrix[:50]).save(path)
    graph, metadata = path.read_bytes(), metadata_file.read_text()
    for broken in (graph[:-100], graph[:3000] + b"\xff" + graph[3001:], b""):
        path.write_bytes(broken)
        with pytest.raises(StoreError, match="build it again"):
            AnnIndex.load(path, matrix[:50])
    path.write_bytes(graph)
    for broken in (metadata[:-9], "[]", metadata.replace('"version": 1', '"version": 2'), "[" * 100_000):
        metadata_file.write_text(broken)
        with pytest.raises(StoreError, match="build it again"):
            AnnIndex.load(path, matrix[:50])
    metadata_file.unlink()
    with pytest.raises(StoreError, match="no index at"):
        AnnIndex.load(path, matrix[:50])


def test_failed_save_leaves_no_file(tmp_path: Path, matrix: Matrix) -> None:
    with pytest.raises(StoreError, match="cannot write"):
        AnnIndex.build(matrix[:5]).save(tmp_path / "missing" / "tools.graph")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        AnnIndex.build(matrix[:5]).save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_invalid_matrix_is_refused(matrix: Matrix) -> None:
    with pytest.raises(ValueError, match="float64"):
        AnnIndex.build(matrix[:5].astype(np.float64))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"shape \(48,\)"):
        AnnIndex.build(matrix[0])
    with pytest.raises(ValueError, match=r"shape \(3, 0\)"):
        AnnIndex.build(np.empty((3, 0), np.float32))
    for bad in (0.0, 2.0, np.nan):
        rows = matrix[:5].copy()
        rows[3] *= np.float32(bad)
        with pytest.raises(ValueError, match="row 3 is not of unit length"):
            AnnIndex.build(rows)


def test_invalid_query_is_refused(matrix: Matrix, index: AnnIndex) -> None:
    with pytest.raises(ValueError, match="negative"):
        index.nearest(matrix[0], -1)
    with pytest.raises(ValueError, match=r"\(7,\).*\(3000, 48\)"):
        index.nearest(matrix[0, :7], 1)
    with pytest.raises(ValueError, match="does not fit"):
        index.nearest(matrix[:1], 1)
    with pytest.raises(ValueError, match="not finite"):
        index.nearest(np.full(48, np.nan, np.float32), 1)


def test_missing_usearch_names_the_extra(monkeypatch: pytest.MonkeyPatch, matrix: Matrix) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith("usearch"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"contextune\[big\]"):
        AnnIndex.build(matrix[:5])


def test_libraries_loaded_after_usearch_work() -> None:
    """Some releases of usearch break every C++ library that a process loads after them."""
    code = """
import numpy as np
from contextune.search.ann import AnnIndex
AnnIndex.build(np.eye(9, dtype=np.float32))
import onnxruntime, lightgbm
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
