"""Approximate dense search against exact search, and what is kept of it in files."""

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


def crowd(rows: int, width: int = 48, seed: int = 0) -> Matrix:
    """Rows in clusters, as texts are."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(40, width))
    return unit(centres[random.integers(0, 40, rows)] + 0.6 * random.normal(size=(rows, width)))


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return crowd(3000)


@pytest.fixture(scope="module")
def index(matrix: Matrix) -> AnnIndex:
    return AnnIndex.build(matrix, threads=1)


def exact(vector: Matrix, matrix: Matrix, k: int) -> list[int]:
    return top(similarities(vector, matrix), k).tolist()


def test_it_finds_what_exact_search_finds(matrix: Matrix, index: AnnIndex) -> None:
    asked = crowd(100, seed=1)
    found = [set(index.nearest(vector, 10).tolist()) for vector in asked]
    right = [set(exact(vector, matrix, 10)) for vector in asked]
    assert np.mean([len(a & b) / 10 for a, b in zip(found, right, strict=True)]) > 0.98


def test_best_first_by_the_rows_as_they_are(matrix: Matrix, index: AnnIndex) -> None:
    vector = crowd(1, seed=2)[0]
    found = index.nearest(vector, 50)
    assert found.dtype == np.intp
    assert len(set(found.tolist())) == 50
    scores = similarities(vector, matrix)[found]
    assert (np.diff(scores) <= 0).all()
    assert index.nearest(matrix[123], 1).tolist() == [123]


def test_the_closest_are_told_apart_though_the_graph_is_coarse() -> None:
    base = crowd(1, 384)[0].astype(np.float64)
    turned = np.eye(384)[:40] * np.linspace(1e-3, 4e-2, 40)[:, None]
    matrix = unit(base + turned)
    index = AnnIndex.build(matrix, threads=1)
    vector = unit(base)
    assert index.nearest(vector, 10).tolist() == exact(vector, matrix, 10)


def test_of_equal_rows_the_lower_place_comes_first() -> None:
    matrix = np.repeat(crowd(4), 5, axis=0)
    index = AnnIndex.build(matrix, threads=1)
    assert index.nearest(matrix[7], 5).tolist() == [5, 6, 7, 8, 9]


def test_no_more_than_there_are(matrix: Matrix) -> None:
    few = AnnIndex.build(matrix[:7])
    assert sorted(few.nearest(matrix[0], 100).tolist()) == list(range(7))
    assert few.nearest(matrix[0], 0).tolist() == []
    one = AnnIndex.build(matrix[:1])
    assert one.nearest(-matrix[0], 3).tolist() == [0]


@pytest.mark.parametrize("width", [0, 48])
def test_an_empty_catalogue_holds_nothing(tmp_path: Path, width: int) -> None:
    empty = np.empty((0, width), np.float32)
    index = AnnIndex.build(empty)
    assert (len(index), index.nbytes) == (0, 0)
    assert index.nearest(np.ones(width, np.float32), 5).tolist() == []
    index.save(tmp_path / "empty")
    assert len(AnnIndex.load(tmp_path / "empty", empty)) == 0


def test_more_than_a_search_keeps_in_sight_may_be_asked_for(matrix: Matrix, index: AnnIndex) -> None:
    found = index.nearest(matrix[0], 500)
    assert len(set(found.tolist())) == 500
    assert len(set(found.tolist()) & set(exact(matrix[0], matrix, 500))) > 490


def test_with_one_thread_it_is_the_same_every_time(tmp_path: Path, matrix: Matrix) -> None:
    for name in "ab":
        AnnIndex.build(matrix[:500], threads=1).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_rows_need_not_lie_in_one_piece(matrix: Matrix, index: AnnIndex) -> None:
    turned = np.asfortranarray(matrix)
    other = AnnIndex.build(turned, threads=1)
    asked = crowd(5, seed=3)
    for vector in asked:
        assert other.nearest(vector, 10).tolist() == index.nearest(vector, 10).tolist()


def test_progress_is_told_of_every_row(matrix: Matrix) -> None:
    heard: list[tuple[int, int]] = []
    big = np.tile(matrix[:500, :8], (10, 1))
    AnnIndex.build(unit(big.astype(np.float64)), progress=lambda done, of: heard.append((done, of)))
    assert heard[-1] == (5000, 5000)
    assert len(heard) > 1
    assert heard == sorted(heard)


def test_threads_may_share_it(matrix: Matrix, index: AnnIndex) -> None:
    def places(vector: Matrix) -> list[int]:
        return index.nearest(vector, 10).tolist()

    asked = list(crowd(200, seed=4))
    alone = [places(vector) for vector in asked]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(places, asked)) == alone


def test_a_kept_index_answers_as_before(tmp_path: Path, matrix: Matrix, index: AnnIndex) -> None:
    index.save(tmp_path / "tools.graph")
    again = AnnIndex.load(tmp_path / "tools.graph", matrix)
    assert len(again) == 3000
    for vector in crowd(20, seed=5):
        assert again.nearest(vector, 10).tolist() == index.nearest(vector, 10).tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tools.graph", "tools.graph.json"]
    said = json.loads((tmp_path / "tools.graph.json").read_text())
    assert said["shape"] == [3000, 48]


def test_saving_again_takes_the_place_of_what_was_there(tmp_path: Path, matrix: Matrix) -> None:
    path = tmp_path / "tools.graph"
    AnnIndex.build(matrix[:20]).save(path)
    AnnIndex.build(matrix[:30]).save(path)
    assert len(AnnIndex.load(path, matrix[:30])) == 30
    with pytest.raises(StoreError, match="other vectors"):
        AnnIndex.load(path, matrix[:20])


def test_one_of_other_vectors_is_refused(tmp_path: Path, matrix: Matrix) -> None:
    path = tmp_path / "tools.graph"
    AnnIndex.build(matrix[:50]).save(path)
    changed = matrix[:50].copy()
    changed[31] = matrix[60]
    for other in (changed, matrix[:49], matrix[:50][::-1]):
        with pytest.raises(StoreError, match="other vectors or damaged: build it anew"):
            AnnIndex.load(path, other)
    AnnIndex.load(path, matrix[:50].copy())


def test_a_damaged_one_is_refused(tmp_path: Path, matrix: Matrix) -> None:
    path, about = tmp_path / "tools.graph", tmp_path / "tools.graph.json"
    AnnIndex.build(matrix[:50]).save(path)
    whole, said = path.read_bytes(), about.read_text()
    for broken in (whole[:-100], whole[:3000] + b"\xff" + whole[3001:], b""):
        path.write_bytes(broken)
        with pytest.raises(StoreError, match="build it anew"):
            AnnIndex.load(path, matrix[:50])
    path.write_bytes(whole)
    for broken in (said[:-9], "[]", said.replace('"version": 1', '"version": 2'), "[" * 100_000):
        about.write_text(broken)
        with pytest.raises(StoreError, match="build it anew"):
            AnnIndex.load(path, matrix[:50])
    about.unlink()
    with pytest.raises(StoreError, match="no index at"):
        AnnIndex.load(path, matrix[:50])


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path, matrix: Matrix) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        AnnIndex.build(matrix[:5]).save(tmp_path / "missing" / "tools.graph")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        AnnIndex.build(matrix[:5]).save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_what_is_no_matrix_of_unit_rows_is_refused(matrix: Matrix) -> None:
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


def test_what_is_no_query_is_refused(matrix: Matrix, index: AnnIndex) -> None:
    with pytest.raises(ValueError, match="negative"):
        index.nearest(matrix[0], -1)
    with pytest.raises(ValueError, match=r"\(7,\).*\(3000, 48\)"):
        index.nearest(matrix[0, :7], 1)
    with pytest.raises(ValueError, match="cannot meet"):
        index.nearest(matrix[:1], 1)
    with pytest.raises(ValueError, match="not finite"):
        index.nearest(np.full(48, np.nan, np.float32), 1)


def test_without_its_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, matrix: Matrix) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith("usearch"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"contextune\[big\]"):
        AnnIndex.build(matrix[:5])


def test_libraries_that_are_loaded_after_it_work() -> None:
    """Some releases of usearch break every C++ library that a process loads after them."""
    code = """
import numpy as np
from contextune.search.ann import ApproximateIndex
ApproximateIndex.build(np.eye(9, dtype=np.float32))
import onnxruntime, lightgbm
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
