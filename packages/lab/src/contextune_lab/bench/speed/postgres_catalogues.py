"""Benchmark of a catalogue in PostgreSQL with an HNSW index: load, search and update it.

Its tools are made as in `stored_catalogues`. The database must have no catalogue yet; what is loaded stays.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from contextune.datasets import bundled_personas
from contextune.embed import Matrix, default_embedder
from contextune.errors import ContextuneError
from contextune.tools import ToolRetriever
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.index import embed_texts
from contextune.tools.large.postgres import PostgresCatalog
from contextune.tools.tool_text import tool_text
from contextune.types import Progress, Tool
from contextune_lab.bench.speed.large_catalogues import SearchTimes, read_requests, read_tools
from contextune_lab.bench.speed.stored_catalogues import (
    MadeTools,
    best_rows,
    recall_of,
    server_tools,
    time_searches,
)

_K = 10
_PART = 10_000
_REQUESTS = 100


@dataclass(frozen=True, slots=True)
class PostgresFigures:
    """Cost of loading, searching and updating a catalogue in PostgreSQL."""

    tools: int
    load_seconds: float
    database_bytes: int
    short: SearchTimes
    long: SearchTimes
    graph: SearchTimes
    """Vector search alone."""
    recall: float
    """Share of the exact top ten that the index returns."""
    update_seconds: float

    def figures(self) -> dict[str, float]:
        """By name."""
        return {
            "tools": self.tools,
            "loading s": self.load_seconds,
            "database MB": self.database_bytes / 1e6,
            "short request: median ms": self.short.median,
            "short request: 95 % ms": self.short.p95,
            "long request: median ms": self.long.median,
            "vectors alone: index ms": self.graph.median,
            "recall@10 of the index": self.recall,
            "update of a server's tools s": self.update_seconds,
        }


def measure_postgres(
    data: Path,
    url: str,
    size: int,
    cache: Path | None = None,
    progress: Progress | None = None,
    *,
    real: int | None = None,
    requests: int = _REQUESTS,
) -> PostgresFigures:
    """Load `size` tools, made of the first `real` tools of ToolBench, and search them."""
    tools = read_tools(data)[: min(real or size, size)]
    texts = read_requests(data, requests)
    short = list({query.text: None for persona in bundled_personas() for query in persona.queries})[:requests]
    embedder = default_embedder()
    with TemporaryDirectory() as folder, CatalogFile(cache or Path(folder) / "vectors.db") as vectors:
        matrix = embed_texts([tool_text(tool) for tool in tools], embedder, vectors, progress)
    made = MadeTools(tools, matrix, size)
    for _ in made:  # so that it finds vectors by digest
        pass
    with PostgresCatalog(url, embedder) as catalog:
        if catalog.count():
            raise ContextuneError("the database has a catalogue of tools: name an empty database")
        start = perf_counter()
        catalog.load(_sources(made), vector_cache=made)
        load_seconds = perf_counter() - start
        retriever = ToolRetriever.from_index(catalog, embedder)
        retriever.search("warm up", _K)
        short_times, _ = time_searches(retriever, short)
        long_times, _ = time_searches(retriever, texts)
        recall, graph = _recall(catalog, made, embedder.embed([*short, *texts]), size)
        before, after = server_tools()
        start = perf_counter()
        catalog.put(before, "benchmark")
        catalog.put(after, "benchmark")
        retriever.search("warm up again", _K)
        update_seconds = perf_counter() - start
        database = catalog.read("SELECT pg_total_relation_size('tools') + pg_total_relation_size('words')")
    return PostgresFigures(
        size, load_seconds, int(database[0][0]), short_times, long_times, graph, recall, update_seconds
    )


def _sources(made: MadeTools) -> Iterator[tuple[str, Sequence[Tool]]]:
    part: list[Tool] = []
    for number, tool in enumerate(made):
        part.append(tool)
        if len(part) == _PART:
            yield f"source {number // _PART}", part
            part = []
    if part:
        yield "last source", part


def _recall(
    catalog: PostgresCatalog, made: MadeTools, vectors: Matrix, size: int
) -> tuple[float, SearchTimes]:
    """Share of the exact ten nearest tools that the index returns, and the times of its searches."""
    numbers = np.arange(size, dtype=np.int64)
    similarities = (
        vectors @ made.vector_rows(numbers[start : start + _PART]).astype(np.float16).astype(np.float32).T
        for start in range(0, size, _PART)
    )
    first = catalog.read("SELECT min(place) FROM tools")[0][0]  # places are in the order of loading
    return recall_of(lambda vector: catalog.nearest(vector, _K) - first, vectors, best_rows(similarities, _K))
