"""Scaling benchmark: build time, memory and search time of catalogues of up to 1,000,000 tools.

The tools are RapidAPI's endpoints from ToolBench (not in the package). Larger sizes add copies with slightly
perturbed vectors; for those sizes only vector search is measured.
"""

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from random import Random
from time import perf_counter
from typing import TypeVar

import numpy as np
from rich.table import Table

from contextune._internal.assets import read_decompressed
from contextune.datasets import bundled_personas
from contextune.embed import Embedder, Matrix, default_embedder
from contextune.errors import ContextuneError, InvalidDataError, InvalidRequestError
from contextune.search import similarities, top
from contextune.search.ann import AnnIndex
from contextune.tools import Catalog, ToolRetriever
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.index import ToolIndex
from contextune.tools.methods import DEFAULT_METHOD
from contextune.tools.tool_text import tool_text
from contextune.types import Progress, Tool
from contextune_lab.public_data.toolset import distinct_names, read_toolset, tool_from_row

SIZES = (1_000, 10_000, 47_000, 100_000, 200_000, 500_000, 1_000_000)
MIN_RECALL = 0.99
"""Recall of the exact top ten that approximate search must reach."""
_K = 10
_REQUESTS = 200
_SAMPLE = 256
_NOISE = 0.01
Query = TypeVar("Query")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SearchTimes:
    """Latency of one search in milliseconds, and sequential searches per second."""

    median: float
    p95: float
    per_second: float

    @classmethod
    def from_seconds(cls, seconds: Sequence[float]) -> "SearchTimes":
        """Summarize the seconds of each search."""
        milliseconds = np.array(seconds) * 1000
        return cls(
            float(np.median(milliseconds)),
            float(np.percentile(milliseconds, 95)),
            len(seconds) / sum(seconds),
        )


@dataclass(frozen=True, slots=True)
class RetrieverTimes:
    """Times of the complete retriever: BM25 and vectors, including the embedding of the request."""

    bm25_seconds: float
    """Build the BM25 index."""
    bm25_bytes: int | None
    open_seconds: float
    """Open a catalogue whose vectors are cached."""
    search: SearchTimes
    """ToolBench's requests: two or three sentences."""
    short: SearchTimes
    """The bundled personas' requests: one short sentence."""


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """One catalogue size, measured in its own process. Memory is None where it cannot be measured."""

    tools: int
    texts_per_second: float
    """Embedding throughput, on a sample of the tools."""
    retriever: RetrieverTimes | None
    """None for sizes beyond the real tools."""
    graph_seconds: float
    """Build the approximate index."""
    vector_bytes: int
    graph_bytes: int
    exact: SearchTimes
    """Vector search only, as below."""
    approximate: SearchTimes
    recall: float
    """Share of the exact top ten that approximate search returns."""
    peak_bytes: int | None

    @property
    def embed_seconds(self) -> float:
        """Seconds to embed all tools, at the sampled rate."""
        return self.tools / self.texts_per_second


@dataclass(frozen=True, eq=False)
class ScaleJob:
    """Input for measuring one size; `tools` is empty for sizes beyond the real tools."""

    size: int
    tools: Sequence[Tool]
    vectors: Path
    cache: Path
    requests: Sequence[str]
    method: str
    texts_per_second: float


def scale_rows(
    data: Path,
    sizes: Sequence[int] = SIZES,
    cache: Path | None = None,
    progress: Progress | None = None,
    *,
    requests: int = _REQUESTS,
    method: str = DEFAULT_METHOD,
) -> list[ScaleRow]:
    """One row per size. `data` is the folder that holds `toolbench`; `cache` is a file for the vectors.

    `progress` first counts embedded tools, then measured tools over all sizes.
    """
    if not sizes or min(sizes) < _K:
        raise InvalidRequestError(f"cannot measure sizes {list(sizes)!r}: every size must be at least {_K}")
    AnnIndex.build(np.empty((0, 1), np.float32))  # fail early if usearch is missing
    tools = read_tools(data)[: max(sizes)]
    texts = read_requests(data, requests)
    embedder = default_embedder()
    rows: list[ScaleRow] = []
    with tempfile.TemporaryDirectory() as folder:
        cache_file, vectors = cache or Path(folder) / "vectors.db", Path(folder) / "vectors.npy"
        with CatalogFile(cache_file) as vector_cache:
            index = ToolIndex.build(Catalog(tools), embedder, vector_cache=vector_cache, progress=progress)
        np.save(vectors, index.vectors)
        del index
        rate = _rate(embedder, [tool_text(tool) for tool in tools[:_SAMPLE]])
        shared = (vectors, cache_file, texts, method, rate)
        jobs = [ScaleJob(size, tools[:size] if size <= len(tools) else (), *shared) for size in sizes]
        # one process per size, so that memory is not shared
        with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
            try:
                for row in pool.map(measure_size, jobs):
                    rows.append(row)
                    if progress:
                        progress(sum(row.tools for row in rows), sum(sizes))
            except BrokenProcessPool:
                size = sizes[len(rows)]
                raise ContextuneError(
                    f"the process measuring {size:,} tools died: probably out of memory"
                ) from None
    return rows


def crossover(rows: Sequence[ScaleRow], recall: float = MIN_RECALL) -> int | None:
    """The smallest size from which approximate search is faster with enough recall, or None."""
    results = None
    for row in sorted(rows, key=lambda row: -row.tools):
        if row.recall < recall or row.approximate.median >= row.exact.median:
            break
        results = row.tools
    return results


def to_rich(rows: Sequence[ScaleRow]) -> list[Table]:
    """Two tables: build cost and search latency."""
    seconds = ("embedding s", "graph s", "words s", "opening s")
    memory = ("vectors MB", "graph MB", "words MB", "peak MB")
    kinds = ("search", "short", "exact", "approximate")
    times = [name for kind in kinds for name in (f"{kind} ms", "95 %", "a second")]
    building = Table("tools", *seconds, *memory, title="Building a catalogue")
    searching = Table(
        "tools",
        *times,
        "recall@10",
        title="One search; short: of a short request; exact and approximate: the vectors alone",
    )
    for row in rows:
        retriever, size = row.retriever, f"{row.tools:,}"
        opened = (retriever.bm25_seconds, retriever.open_seconds) if retriever else (None, None)
        took = map(_figure, (row.embed_seconds, row.graph_seconds, *opened))
        sizes_in_bytes = row.vector_bytes, row.graph_bytes, retriever and retriever.bm25_bytes, row.peak_bytes
        building.add_row(size, *took, *(_figure(part and part / 1e6) for part in sizes_in_bytes))
        cells = map(
            _cells,
            (retriever and retriever.search, retriever and retriever.short, row.exact, row.approximate),
        )
        searching.add_row(size, *chain(*cells), f"{row.recall:.3f}")
    crossover_size = crossover(rows)
    building.caption = f"Embedding at {rows[0].texts_per_second:,.0f} texts a second." if rows else None
    searching.caption = f"Approximate search is faster, with recall of {MIN_RECALL:.0%} or more, " + (
        f"from {crossover_size:,} tools on." if crossover_size else "at none of these sizes."
    )
    return [building, searching]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def _cells(times: SearchTimes | None) -> list[str]:
    if times is None:
        return ["–"] * 3
    return [f"{times.median:,.2f}", f"{times.p95:,.2f}", f"{times.per_second:,.0f}"]


def read_tools(data: Path) -> list[Tool]:
    """ToolBench's endpoints in random order, each with a unique id."""
    file = data / "toolbench" / "toolenv.jsonl.gz"
    try:
        lines = read_decompressed(file).splitlines()
        tools = list(distinct_names(tool_from_row(json.loads(line)) for line in lines))
    except (OSError, ValueError, KeyError) as error:
        raise InvalidDataError(f"{file}: cannot be read: {error}") from None
    Random(0).shuffle(tools)  # noqa: S311  # no secrets here
    return tools


def read_requests(data: Path, number: int) -> list[str]:
    """Distinct requests of ToolBench: repeated ones would hit caches."""
    results = sorted({query.text for query in read_toolset(data / "toolbench").queries})
    Random(0).shuffle(results)  # noqa: S311
    return results[:number]


def extend_with_copies(vectors: Matrix, size: int) -> Matrix:
    """Extend `vectors` to `size` rows with slightly perturbed copies."""
    if size <= len(vectors):
        return np.array(vectors[:size])
    noise = np.random.default_rng(0)
    rows = np.empty((size, vectors.shape[1]), np.float32)
    for start in range(0, size, len(vectors)):
        part = rows[start : start + len(vectors)]
        part[:] = vectors[: len(part)]
        if start:
            part += _NOISE * noise.standard_normal(part.shape, np.float32)
            part /= np.linalg.norm(part, axis=1, keepdims=True)
    return rows


def measure_size(job: ScaleJob) -> ScaleRow:
    """Measure one size in this process."""
    embedder = default_embedder()
    vectors = extend_with_copies(np.load(job.vectors, mmap_mode="r"), job.size)
    retriever = _measure_retriever(job, embedder, vectors) if job.tools else None
    request_vectors = embedder.embed(job.requests)
    start = perf_counter()
    graph = AnnIndex.build(vectors)
    graph_seconds = perf_counter() - start
    exact_hits, exact = _time_searches(lambda vector: top(similarities(vector, vectors), _K), request_vectors)
    results, approximate = _time_searches(lambda vector: graph.nearest(vector, _K), request_vectors)
    recall = float(
        np.mean([len(np.intersect1d(*pair)) / _K for pair in zip(exact_hits, results, strict=True)])
    )
    sizes_in_bytes, peak = (vectors.nbytes, graph.nbytes), memory_bytes("VmHWM")
    return ScaleRow(
        job.size,
        job.texts_per_second,
        retriever,
        graph_seconds,
        *sizes_in_bytes,
        exact,
        approximate,
        recall,
        peak,
    )


def _measure_retriever(job: ScaleJob, embedder: Embedder, vectors: Matrix) -> RetrieverTimes:
    catalog = Catalog(job.tools)
    before, start = memory_bytes("VmRSS"), perf_counter()
    index = ToolIndex.from_vectors(catalog, vectors)
    bm25_seconds, after = perf_counter() - start, memory_bytes("VmRSS")
    del index
    with CatalogFile(job.cache) as vector_cache:
        start = perf_counter()
        retriever = ToolRetriever(catalog, embedder, method=job.method, vector_cache=vector_cache)
        open_seconds = perf_counter() - start
    retriever.search("warm up", _K)
    _, search = _time_searches(lambda text: retriever.search(text, _K), job.requests)
    short_requests = list({query.text: None for persona in bundled_personas() for query in persona.queries})
    _, short = _time_searches(lambda text: retriever.search(text, _K), short_requests[: len(job.requests)])
    index_bytes = None if before is None or after is None else max(0, after - before)
    return RetrieverTimes(bm25_seconds, index_bytes, open_seconds, search, short)


def _time_searches(
    search: Callable[[Query], Result], requests: Iterable[Query]
) -> tuple[list[Result], SearchTimes]:
    """Results and times of all searches."""
    results: list[Result] = []
    seconds: list[float] = []
    for request in requests:
        start = perf_counter()
        results.append(search(request))
        seconds.append(perf_counter() - start)
    return results, SearchTimes.from_seconds(seconds)


def _rate(embedder: Embedder, texts: Sequence[str]) -> float:
    embedder.embed(texts[:8])
    start = perf_counter()
    embedder.embed(texts)
    return len(texts) / (perf_counter() - start)


def memory_bytes(name: str) -> int | None:
    """A value of /proc/self/status in bytes; `getrusage` would include the parent process."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)
