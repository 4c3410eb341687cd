"""Benchmark of indexes on disk: build, open, search and update catalogues of up to millions of tools.

There are not so many tools to be had. The first tools are endpoints from ToolBench; each further one is made
of real ones: name and parameters of one, its description followed by that of a second, and as its vector the
normalized sum of their vectors and that of a third, weighted 1, 0.5 and 0.2. Nothing but the real tools is
embedded.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from contextune.datasets import bundled_personas
from contextune.embed import Matrix, default_embedder
from contextune.errors import ContextuneError
from contextune.store import text_digest
from contextune.tools import ToolRetriever
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.index import embed_texts
from contextune.tools.large.build import build_index, update_index
from contextune.tools.large.segment import GRAPH_FILE
from contextune.tools.large.stored_index import StoredIndex, index_folder
from contextune.tools.tool_text import tool_text
from contextune.types import Progress, Tool
from contextune_lab.bench.speed.large_catalogues import SearchTimes, memory_bytes, read_requests, read_tools

Result = TypeVar("Result")
_K = 10
_PART = 20_000
_WEIGHTS = (1.0, 0.5, 0.2)
_STRIDES = (0, 7919, 104_729)
_REQUESTS = 100
_CHUNK = 50_000
_UPDATED = 20
"""Tools of the server that changes its list."""


@dataclass(frozen=True, slots=True)
class StoredBuild:
    """Cost of building an index; the embedding of the tools is not in it."""

    seconds: float
    graph_seconds: float
    peak_bytes: int | None
    index_bytes: int
    graph_bytes: int


@dataclass(frozen=True, slots=True)
class StoredSearch:
    """Cost of opening, searching and updating an index."""

    open_seconds: float
    memory: int | None
    """After the searches; pages of mapped files count while they are in memory."""
    short: SearchTimes
    short_processor: float
    """Median processor time of a short request, in milliseconds."""
    long: SearchTimes
    graph: SearchTimes
    """Vector search alone."""
    recall: float
    """Share of the exact top ten that the graph returns."""
    update_seconds: float
    """Apply the changes of a server with twenty tools: new, changed and removed ones."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One catalogue size."""

    tools: int
    real: int
    build: StoredBuild
    search: StoredSearch


class MadeTools:
    """Tools made of real ones, and their vectors. It is a `VectorCache` that reads from the real vectors."""

    def __init__(self, tools: Sequence[Tool], vectors: Matrix, size: int) -> None:
        self._tools, self._vectors, self._size = tools, vectors, size
        self._keys = np.empty(size, np.uint64)

    def __iter__(self) -> Iterator[Tool]:
        """All tools, in order; a pass is needed before `vectors`."""
        for number in range(self._size):
            tool = self.tool(number)
            self._keys[number] = _key(text_digest(tool_text(tool)))
            yield tool
        self._order = np.argsort(self._keys, kind="stable")

    def tool(self, number: int) -> Tool:
        """A tool by its number: a real one, or one made of two."""
        turn, first = divmod(number, len(self._tools))
        if not turn:
            return self._tools[first]
        second = self._tools[int(self._parts(np.array([number], np.int64))[1][0])]
        tool = self._tools[first]
        return replace(tool, app=f"{tool.app} {turn}", description=f"{tool.description} {second.description}")

    def vector_rows(self, numbers: NDArray[np.int64]) -> Matrix:
        """The vectors of tools by their numbers."""
        rows = np.zeros((len(numbers), self._vectors.shape[1]), np.float32)
        for weight, part in zip(_WEIGHTS, self._parts(numbers), strict=True):
            made = (numbers >= len(self._tools)) | (weight == 1)
            rows += np.where(made, weight, 0).astype(np.float32)[:, None] * self._vectors[part]
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def _parts(self, numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        turn, first = np.divmod(numbers, len(self._tools))
        return [(first + turn * stride) % len(self._tools) for stride in _STRIDES]

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors of tools by the digests of their texts."""
        del model
        keys = np.array(list(map(_key, digests)), np.uint64)
        places = np.searchsorted(self._keys, keys, sorter=self._order).clip(max=self._size - 1)
        numbers = self._order[places]
        found = np.flatnonzero(self._keys[numbers] == keys)
        rows = self.vector_rows(numbers[found])
        return {digests[place]: row for place, row in zip(found.tolist(), rows, strict=True)}

    def put_vectors(self, model: str, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keep nothing."""


def stored_rows(
    data: Path,
    sizes: Sequence[int],
    cache: Path | None = None,
    progress: Progress | None = None,
    *,
    real: int | None = None,
    requests: int = _REQUESTS,
) -> list[StoredRow]:
    """One row per size. `real` limits the number of ToolBench's tools; `cache` keeps their vectors."""
    tools = read_tools(data)[: min(real or max(sizes), max(sizes))]
    texts = read_requests(data, requests)
    rows: list[StoredRow] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        with CatalogFile(cache or folder / "vectors.db") as vectors:
            matrix = embed_texts([tool_text(tool) for tool in tools], default_embedder(), vectors, progress)
        for size in sizes:
            place = folder / str(size)
            place.mkdir()
            own = tools[:size]
            build = _in_process(measure_build, place, own, matrix[: len(own)], size)
            rows.append(StoredRow(size, len(own), build, _in_process(measure_search, place, texts)))
    return rows


def measure_build(folder: Path, tools: Sequence[Tool], vectors: Matrix, size: int) -> StoredBuild:
    """Make a catalogue file with `size` tools in a folder and index it."""
    made = MadeTools(tools, vectors, size)
    with CatalogFile(folder / "tools.db") as catalog:
        part: list[Tool] = []
        for tool in made:
            part.append(tool)
            if len(part) == _PART:
                catalog.put(part, f"source {catalog.count()}")
                part = []
        catalog.put(part, "last source")
        graph_start: list[float] = []

        def note_start(_done: int, _total: int) -> None:
            graph_start.append(perf_counter())

        start = perf_counter()
        build_index(
            catalog,
            default_embedder(),
            vector_cache=made,
            part=_PART,
            graph_progress=note_start,
        )
        end = perf_counter()
        files = [path for path in index_folder(catalog).rglob("*") if path.is_file()]
    graph = sum(path.stat().st_size for path in files if path.name == GRAPH_FILE)
    return StoredBuild(
        end - start,
        end - graph_start[0] if graph_start else 0.0,
        memory_bytes("VmHWM"),
        sum(path.stat().st_size for path in files),
        graph,
    )


def measure_search(folder: Path, requests: Sequence[str]) -> StoredSearch:
    """Open the index of a folder, search and update it."""
    embedder = default_embedder()
    with CatalogFile(folder / "tools.db") as catalog:
        start = perf_counter()
        index = StoredIndex(catalog, embedder)
        retriever = ToolRetriever.from_index(index, embedder)
        open_seconds = perf_counter() - start
        short = list({query.text: None for persona in bundled_personas() for query in persona.queries})
        retriever.search("warm up", _K)
        short_times, processor = time_searches(retriever, short[: len(requests)])
        long_times, _ = time_searches(retriever, requests)
        memory = memory_bytes("VmRSS")
        recall, graph = measure_recall(index, embedder.embed([*short[: len(requests)], *requests]))
        start = perf_counter()
        for tools in server_tools():
            catalog.put(tools, "benchmark")
        update_index(catalog, embedder)
        retriever.search("warm up again", _K)
        update_seconds = perf_counter() - start
    return StoredSearch(
        open_seconds, memory, short_times, processor, long_times, graph, recall, update_seconds
    )


def measure_recall(index: StoredIndex, vectors: Matrix) -> tuple[float, SearchTimes]:
    """Share of the exact ten nearest tools that the graph returns, and the times of its searches."""
    snapshot = index.snapshot

    def similarities() -> Iterator[Matrix]:
        offset = 0
        for segment in snapshot.segments:
            for start in range(0, len(segment), _CHUNK):
                part = vectors @ segment.vectors[start : start + _CHUNK].astype(np.float32).T
                part[:, ~snapshot.live[offset + start : offset + start + part.shape[1]]] = -2
                yield part
            offset += len(segment)

    return recall_of(lambda vector: snapshot.nearest(vector, _K), vectors, best_rows(similarities(), _K))


def best_rows(similarities: Iterable[Matrix], k: int) -> NDArray[np.int64]:
    """The `k` most similar rows for each request, from parts of a matrix of requests by rows."""
    best: NDArray[np.int64] | None = None
    scores: Matrix | None = None
    offset = 0
    for part in similarities:
        numbers = np.tile(np.arange(part.shape[1], dtype=np.int64) + offset, (len(part), 1))
        offset += part.shape[1]
        if best is not None and scores is not None:
            part, numbers = np.hstack([scores, part]), np.hstack([best, numbers])
        order = np.argsort(-part, axis=1, kind="stable")[:, :k]
        scores = np.take_along_axis(part, order, axis=1)
        best = np.take_along_axis(numbers, order, axis=1)
    return np.empty((0, k), np.int64) if best is None else best


def recall_of(
    search: Callable[[Matrix], Sequence[int] | NDArray[np.intp]], vectors: Matrix, exact: NDArray[np.int64]
) -> tuple[float, SearchTimes]:
    """Share of the exact rows that a search returns, and the times of the searches."""
    seconds: list[float] = []
    shares: list[float] = []
    for vector, rows in zip(vectors, exact, strict=True):
        start = perf_counter()
        found = search(vector)
        seconds.append(perf_counter() - start)
        shares.append(len(np.intersect1d(found, rows)) / rows.size)
    return float(np.mean(shares)), SearchTimes.from_seconds(seconds)


def to_rich(rows: Sequence[StoredRow]) -> Table:
    """A table for the terminal."""
    table = Table("", *(f"{row.tools:,} tools" for row in rows), title="Index on disk")
    for name, values in figures(rows).items():
        table.add_row(name, *("–" if value is None else f"{value:,.3g}" for value in values))
    return table


def figures(rows: Sequence[StoredRow]) -> dict[str, list[float | None]]:
    """By name, one figure for each row."""
    return {
        "building s": [row.build.seconds for row in rows],
        "of these: graph s": [row.build.graph_seconds for row in rows],
        "memory while building MB": [_megabytes(row.build.peak_bytes) for row in rows],
        "files MB": [_megabytes(row.build.index_bytes) for row in rows],
        "of these: graph MB": [_megabytes(row.build.graph_bytes) for row in rows],
        "opening s": [row.search.open_seconds for row in rows],
        "memory while searching MB": [_megabytes(row.search.memory) for row in rows],
        "short request: median ms": [row.search.short.median for row in rows],
        "short request: 95 % ms": [row.search.short.p95 for row in rows],
        "short request: processor ms": [row.search.short_processor for row in rows],
        "long request: median ms": [row.search.long.median for row in rows],
        "vectors alone: graph ms": [row.search.graph.median for row in rows],
        "recall@10 of the graph": [row.search.recall for row in rows],
        "update of a server's tools s": [row.search.update_seconds for row in rows],
    }


def time_searches(retriever: ToolRetriever, requests: Sequence[str]) -> tuple[SearchTimes, float]:
    """Wall-clock times of searches, and the median of their processor times in milliseconds."""
    seconds: list[float] = []
    processor: list[float] = []
    for request in requests:
        start, before = perf_counter(), process_time()
        retriever.search(request, _K)
        seconds.append(perf_counter() - start)
        processor.append(process_time() - before)
    return SearchTimes.from_seconds(seconds), float(np.median(processor)) * 1000


def server_tools() -> tuple[list[Tool], list[Tool]]:
    """The tools of a server before and after it changes some, removes others and adds new ones."""
    tools = [Tool(f"fire_{n}", f"Fires kiln number {n}.", app="Benchmark") for n in range(_UPDATED)]
    changed = [replace(tool, description=f"{tool.description} Slowly.") for tool in tools[:5]]
    return tools[:-5], [*changed, *tools[10:]]


def _in_process(function: Callable[..., Result], *arguments: object) -> Result:
    """Run in a process of its own, so that memory is not shared."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            return pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            raise ContextuneError("the process that measures died: probably out of memory") from None


def _key(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little")


def _megabytes(size: int | None) -> float | None:
    return None if size is None else size / 1e6
