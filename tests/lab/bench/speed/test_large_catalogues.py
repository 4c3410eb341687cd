"""Scaling benchmark."""

import gzip
import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from contextune.embed import default_embedder
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.store import text_digest
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.tool_text import tool_text
from contextune_lab.bench.speed.large_catalogues import (
    RetrieverTimes,
    ScaleJob,
    ScaleRow,
    SearchTimes,
    crossover,
    extend_with_copies,
    measure_size,
    read_requests,
    read_tools,
    scale_rows,
    to_rich,
)
from contextune_lab.bench.speed.stored_catalogues import StoredRow, measure_build, measure_search
from contextune_lab.bench.speed_tables import stored_table

VERBS = ("get", "list", "search", "delete", "update", "count")
THINGS = ("weather", "flights", "songs", "recipes", "stocks", "hotels", "news", "players", "cars", "films")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty endpoints and eight requests in ToolBench's format."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "toolbench").mkdir()
    rows = [
        {"tool": f"{thing} hub", "name": f"{verb} {thing}", "description": f"{verb} {thing} by id"}
        for thing in THINGS
        for verb in VERBS
    ]
    content = "\n".join(map(json.dumps, rows)).encode()
    (folder / "toolbench" / "toolenv.jsonl.gz").write_bytes(gzip.compress(content))
    (folder / "toolbench" / "tools.jsonl").write_text("")
    queries = [
        json.dumps({"id": thing, "query": f"Tell me about {thing}", "relevant": [], "split": "test"})
        for thing in (*THINGS[:8], THINGS[0])
    ]
    (folder / "toolbench" / "queries.jsonl").write_text("\n".join(queries))
    return folder


def test_every_size_is_measured_and_vectors_are_cached(data: Path, tmp_path: Path) -> None:
    progress_calls: list[tuple[int, int]] = []
    cache = tmp_path / "vectors.db"
    (row,) = scale_rows(
        data,
        [20],
        cache,
        lambda done, from_seconds: progress_calls.append((done, from_seconds)),
        requests=4,
        method="hybrid",
    )
    assert progress_calls == [(20, 20), (20, 20)]
    assert row.tools == 20
    assert row.embed_seconds == pytest.approx(20 / row.texts_per_second)
    assert row.retriever is not None
    assert 0 < row.retriever.search.median <= row.retriever.search.p95
    assert row.peak_bytes is None or row.peak_bytes > row.vector_bytes
    with CatalogFile(cache) as shelf:
        assert len(shelf.vectors(default_embedder().name, _digests(data)[:20])) == 20


def _digests(data: Path) -> list[bytes]:
    return [text_digest(tool_text(tool)) for tool in read_tools(data)]


def job(data: Path, folder: Path, size: int) -> ScaleJob:
    """A job over random vectors."""
    tools = read_tools(data)
    rows = np.random.default_rng(1).normal(size=(len(tools), 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.save(folder / "vectors.npy", rows)
    with CatalogFile(folder / "vectors.db") as shelf:
        shelf.put_vectors(default_embedder().name, dict(zip(_digests(data), rows, strict=True)))
    own = tools[:size] if size <= len(tools) else ()
    queries = read_requests(data, 4)
    return ScaleJob(size, own, folder / "vectors.npy", folder / "vectors.db", queries, "hybrid", 100.0)


def test_retriever_is_measured_for_real_tools(data: Path, tmp_path: Path) -> None:
    row = measure_size(job(data, tmp_path, 60))
    assert row.vector_bytes == 60 * 384 * 4
    assert 60 * 384 < row.graph_bytes < row.vector_bytes
    assert row.recall >= 0.95  # the graph is approximate, and its order of insertion depends on threads
    assert row.retriever is not None
    assert row.retriever.search.median > row.exact.median
    assert row.retriever.open_seconds > 0


def test_larger_sizes_measure_vector_search_only(data: Path, tmp_path: Path) -> None:
    row = measure_size(job(data, tmp_path, 200))
    assert (row.tools, row.vector_bytes, row.retriever) == (200, 200 * 384 * 4, None)
    assert row.embed_seconds == 2.0


def test_copies_are_similar_but_distinct() -> None:
    vectors = np.eye(8, 384, dtype=np.float32)
    rows = extend_with_copies(vectors, 30)
    assert rows.shape == (30, 384)
    assert rows.dtype == np.float32
    assert np.array_equal(rows[:8], vectors)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(30), abs=1e-5)
    near = rows @ vectors.T
    assert near.argmax(axis=1).tolist() == [number % 8 for number in range(30)]
    assert (near.max(axis=1) > 0.95).all()
    assert len(np.unique(rows, axis=0)) == 30
    assert np.array_equal(rows, extend_with_copies(vectors, 30))
    assert np.array_equal(extend_with_copies(vectors, 5), vectors[:5])


def test_duplicate_endpoints_get_unique_names(tmp_path: Path) -> None:
    (tmp_path / "toolbench").mkdir()
    names = ["get", "get 2", "get", "get", "put"]
    rows = [{"tool": "hub", "name": name, "description": str(place)} for place, name in enumerate(names)]
    file = tmp_path / "toolbench" / "toolenv.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    tools = read_tools(tmp_path)
    assert {tool.description: tool.name for tool in tools} == {
        "0": "get",
        "1": "get 2",
        "2": "get 3",
        "3": "get 4",
        "4": "put",
    }
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InvalidDataError, match=r"toolenv\.jsonl\.gz"):
        read_tools(tmp_path)


def test_tool_order_is_deterministic(data: Path) -> None:
    tools = read_tools(data)
    assert tools == read_tools(data)
    assert len({tool.app for tool in tools[:12]}) > 4


def test_requests_are_distinct(data: Path) -> None:
    assert len(set(read_requests(data, 100))) == len(read_requests(data, 100)) == 8
    assert read_requests(data, 3) == read_requests(data, 100)[:3]


@pytest.mark.parametrize("sizes", [[], [5], [100, 9]])
def test_sizes_below_ten_are_rejected(data: Path, sizes: list[int]) -> None:
    with pytest.raises(InvalidRequestError, match="cannot measure sizes"):
        scale_rows(data, sizes)


def row(tools: int, exact: float, approximate: float, recall: float) -> ScaleRow:
    return ScaleRow(
        tools,
        50.0,
        RetrieverTimes(1.5, None, 2.5, SearchTimes(12.345, 20, 80), SearchTimes(6.789, 9, 140))
        if tools < 50_000
        else None,
        3.0,
        vector_bytes=4_000_000,
        graph_bytes=1_000_000,
        exact=SearchTimes(exact, exact, 1000 / exact),
        approximate=SearchTimes(approximate, approximate, 1000 / approximate),
        recall=recall,
        peak_bytes=7_000_000,
    )


def test_crossover_holds_for_all_larger_sizes() -> None:
    small, middle, large = row(10, 1, 2, 1.0), row(100, 3, 2, 0.995), row(1000, 9, 2, 0.992)
    assert crossover([large, small, middle]) == 100
    assert crossover([small, middle, row(1000, 9, 2, 0.98)]) is None
    assert crossover([row(10, 3, 2, 1.0), row(100, 1, 2, 1.0), large]) == 1000
    assert crossover([]) is None


def test_tables_show_every_value() -> None:
    console = Console(width=200, record=True, file=StringIO())
    for table in to_rich([row(1000, 1.25, 2, 1.0), row(1_000_000, 90, 2.75, 0.991)]):
        console.print(table)
    text = console.export_text()
    for figure in (
        "1,000,000",
        "20,000.0",
        "12.35",
        "6.79",
        "90.00",
        "2.75",
        "0.991",
        "–",
        "50 texts a second",
    ):
        assert figure in text
    assert "from 1,000,000 tools on" in text
    assert [len(table.columns) for table in to_rich([])] == [9, 14]


def test_index_on_disk_is_measured_with_made_tools(data: Path, tmp_path: Path) -> None:
    tools = read_tools(data)
    rows = np.random.default_rng(1).normal(size=(len(tools), 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    build = measure_build(tmp_path, tools, rows, 150)
    assert build.index_bytes > 150 * 384 * 2
    search = measure_search(tmp_path, read_requests(data, 3))
    assert search.recall == 1.0  # without a graph, search is exact
    table = stored_table([StoredRow(150, len(tools), build, search)])
    assert dict(table.values())["scale-stored/150/recall@10 of the graph"] == 1.0
    with CatalogFile(tmp_path / "tools.db") as catalog:
        made = catalog.catalog()
        assert len(made) == 150 + 15  # fifteen tools of the server that was added by the update
        assert made[60].description.startswith(tools[0].description)
        assert len(made[60].description) > len(tools[0].description)
