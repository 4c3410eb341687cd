"""What a catalogue costs as it grows: building, memory and searching, and from where approximate search pays.

The tools are RapidAPI's endpoints as ToolBench has them (not in the package). A size beyond them is made
of copies, a copy's vector being the original's turned a little; of those only the vectors are searched.
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

from contextune._internal.compression import read_packed
from contextune.datasets import bundled_personas
from contextune.embed import Embedder, Matrix, default_embedder
from contextune.errors import ContextuneError, InvalidDataError, InvalidRequestError
from contextune.lab.public_data.toolset import distinct, read_toolset, uniform_tool
from contextune.search import similarities, top
from contextune.search.ann import AnnIndex
from contextune.tools import Catalog, ToolRetriever
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.index import ToolIndex
from contextune.tools.methods import DEFAULT
from contextune.tools.tool_text import tool_text
from contextune.types import Progress, Tool

SIZES = (1_000, 10_000, 47_000, 100_000, 200_000, 500_000, 1_000_000)
RECALL = 0.99
"""What approximate search has to find of the exact ten, to be a match for it."""
_K = 10
_REQUESTS = 200
_SAMPLE = 256
_NOISE = 0.01
Asked = TypeVar("Asked")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class SearchTimes:
    """Milliseconds of one search, and how many there are in a second, one after the other."""

    median: float
    p95: float
    per_second: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "SearchTimes":
        """Out of what each search took."""
        taken = np.array(seconds) * 1000
        return cls(float(np.median(taken)), float(np.percentile(taken, 95)), len(taken) / sum(seconds))


@dataclass(frozen=True, slots=True)
class RetrieverTimes:
    """What the retriever takes as users have it: words and vectors, a request's own embedding included."""

    words_seconds: float
    """To index the words."""
    words_bytes: int | None
    open_seconds: float
    """To open a catalogue whose vectors are kept from an earlier run."""
    search: SearchTimes
    """With ToolBench's requests, which are of two or three sentences."""
    short: SearchTimes
    """With the bundled personas' requests, as people speak to an assistant."""


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """One size of catalogue, measured in a process of its own. Memory is None where it cannot be told."""

    tools: int
    texts_per_second: float
    """Embedded, on a sample of the tools."""
    whole: RetrieverTimes | None
    """None for more tools than there are."""
    graph_seconds: float
    """To build the approximate index."""
    vector_bytes: int
    graph_bytes: int
    exact: SearchTimes
    """Of the vectors alone, as are those below."""
    approximate: SearchTimes
    recall: float
    """How many of the exact ten nearest the approximate ten hold."""
    peak_bytes: int | None

    @property
    def embed_seconds(self) -> float:
        """How long it takes to embed all, at the rate of the sample."""
        return self.tools / self.texts_per_second


@dataclass(frozen=True, eq=False)
class ScaleJob:
    """What one size is measured on. `tools` is empty where there are not as many."""

    size: int
    tools: Sequence[Tool]
    vectors: Path
    shelf: Path
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
    method: str = DEFAULT,
) -> list[ScaleRow]:
    """A row a size. `data` is the folder that holds toolbench; `cache` is a file that keeps the vectors.

    `progress` is told first of tools embedded, then of tools measured, over all sizes.
    """
    if not sizes or min(sizes) < _K:
        raise InvalidRequestError(f"the sizes {list(sizes)!r} cannot be measured: name sizes of {_K} or more")
    AnnIndex.build(np.empty((0, 1), np.float32))  # says at once if its library is missing
    tools = read_tools(data)[: max(sizes)]
    asked = read_requests(data, requests)
    embedder = default_embedder()
    rows: list[ScaleRow] = []
    with tempfile.TemporaryDirectory() as folder:
        shelf, vectors = cache or Path(folder) / "vectors.db", Path(folder) / "vectors.npy"
        with CatalogFile(shelf) as kept:
            built = ToolIndex.build(Catalog(tools), embedder, shelf=kept, progress=progress)
        np.save(vectors, built.vectors)
        del built
        rate = _rate(embedder, [tool_text(tool) for tool in tools[:_SAMPLE]])
        given = (vectors, shelf, asked, method, rate)
        jobs = [ScaleJob(size, tools[:size] if size <= len(tools) else (), *given) for size in sizes]
        # a process for each: its memory holds nothing of the sizes before
        with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
            try:
                for row in pool.map(measured, jobs):
                    rows.append(row)
                    if progress:
                        progress(sum(row.tools for row in rows), sum(sizes))
            except BrokenProcessPool:
                size = sizes[len(rows)]
                raise ContextuneError(
                    f"measuring {size:,} tools was ended: is there enough memory?"
                ) from None
    return rows


def crossover(rows: Sequence[ScaleRow], recall: float = RECALL) -> int | None:
    """The size from which on approximate search is the quicker one and finds enough, or None."""
    found = None
    for row in sorted(rows, key=lambda row: -row.tools):
        if row.recall < recall or row.approximate.median >= row.exact.median:
            break
        found = row.tools
    return found


def to_rich(rows: Sequence[ScaleRow]) -> list[Table]:
    """Two tables: what a size takes to build, and what to search."""
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
        whole, size = row.whole, f"{row.tools:,}"
        opened = (whole.words_seconds, whole.open_seconds) if whole else (None, None)
        took = map(_figure, (row.embed_seconds, row.graph_seconds, *opened))
        held = row.vector_bytes, row.graph_bytes, whole and whole.words_bytes, row.peak_bytes
        building.add_row(size, *took, *(_figure(part and part / 1e6) for part in held))
        cells = map(_cells, (whole and whole.search, whole and whole.short, row.exact, row.approximate))
        searching.add_row(size, *chain(*cells), f"{row.recall:.3f}")
    least = crossover(rows)
    building.caption = f"Embedding at {rows[0].texts_per_second:,.0f} texts a second." if rows else None
    searching.caption = f"Approximate search is quicker, and finds {RECALL:.0%} or more, " + (
        f"from {least:,} tools on." if least else "at none of these sizes."
    )
    return [building, searching]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def _cells(times: SearchTimes | None) -> list[str]:
    if times is None:
        return ["–"] * 3
    return [f"{times.median:,.2f}", f"{times.p95:,.2f}", f"{times.per_second:,.0f}"]


def read_tools(data: Path) -> list[Tool]:
    """ToolBench's endpoints, mixed, so that the first thousand are of every kind, each under its own id."""
    file = data / "toolbench" / "toolenv.jsonl.gz"
    try:
        lines = read_packed(file).splitlines()
        mixed = list(distinct(uniform_tool(json.loads(line)) for line in lines))
    except (OSError, ValueError, KeyError) as error:
        raise InvalidDataError(f"{file}: cannot be read: {error}") from None
    Random(0).shuffle(mixed)  # noqa: S311  # no secrets here
    return mixed


def read_requests(data: Path, number: int) -> list[str]:
    """Requests of ToolBench's users, each once: what was asked before would be remembered."""
    found = sorted({query.text for query in read_toolset(data / "toolbench").queries})
    Random(0).shuffle(found)  # noqa: S311
    return found[:number]


def grown(vectors: Matrix, size: int) -> Matrix:
    """`size` rows: those there are, then copies of them, each turned a little."""
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


def measured(job: ScaleJob) -> ScaleRow:
    """One size, in this process."""
    embedder = default_embedder()
    vectors = grown(np.load(job.vectors, mmap_mode="r"), job.size)
    whole = _whole(job, embedder, vectors) if job.tools else None
    asked = embedder.embed(job.requests)
    start = perf_counter()
    graph = AnnIndex.build(vectors)
    graph_seconds = perf_counter() - start
    right, exact = _timed(lambda vector: top(similarities(vector, vectors), _K), asked)
    found, approximate = _timed(lambda vector: graph.nearest(vector, _K), asked)
    recall = float(np.mean([len(np.intersect1d(*pair)) / _K for pair in zip(right, found, strict=True)]))
    held, peak = (vectors.nbytes, graph.nbytes), _memory("VmHWM")
    return ScaleRow(
        job.size, job.texts_per_second, whole, graph_seconds, *held, exact, approximate, recall, peak
    )


def _whole(job: ScaleJob, embedder: Embedder, vectors: Matrix) -> RetrieverTimes:
    catalog = Catalog(job.tools)
    before, start = _memory("VmRSS"), perf_counter()
    index = ToolIndex.of(catalog, vectors)
    words_seconds, after = perf_counter() - start, _memory("VmRSS")
    del index
    with CatalogFile(job.shelf) as shelf:
        start = perf_counter()
        retriever = ToolRetriever(catalog, embedder, method=job.method, shelf=shelf)
        open_seconds = perf_counter() - start
    retriever.search("warm up", _K)
    _, search = _timed(lambda text: retriever.search(text, _K), job.requests)
    spoken = list({query.text: None for persona in bundled_personas() for query in persona.queries})
    _, short = _timed(lambda text: retriever.search(text, _K), spoken[: len(job.requests)])
    grew = None if before is None or after is None else max(0, after - before)
    return RetrieverTimes(words_seconds, grew, open_seconds, search, short)


def _timed(search: Callable[[Asked], Found], requests: Iterable[Asked]) -> tuple[list[Found], SearchTimes]:
    """What each finds, and how long they take."""
    found: list[Found] = []
    taken: list[float] = []
    for request in requests:
        start = perf_counter()
        found.append(search(request))
        taken.append(perf_counter() - start)
    return found, SearchTimes.of(taken)


def _rate(embedder: Embedder, texts: Sequence[str]) -> float:
    embedder.embed(texts[:8])
    start = perf_counter()
    embedder.embed(texts)
    return len(texts) / (perf_counter() - start)


def _memory(name: str) -> int | None:
    """By Linux's own account; `getrusage` would count in what the parent process had held."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)
