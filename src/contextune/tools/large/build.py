"""Build the index of a catalogue file, and update it in place.

An index has a large segment with a graph and a small one with what was added or changed since. An update
writes the small one anew and marks replaced rows of the large one as removed. When the small one has grown,
its rows are added to the large one and its graph; when many rows are removed, both are written anew. Each
generation is complete before the manifest names it, so readers never wait.
"""

import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contextune._internal.array_files import read_array
from contextune.embed import Embedder, Matrix
from contextune.errors import MissingExtraError, StoreError
from contextune.search.mapped_graph import write_graph
from contextune.tools.catalog_file import CatalogFile, CatalogRevision
from contextune.tools.index import ANN_MIN_TOOLS, MAX_EXAMPLES, VectorCache, embed_texts
from contextune.tools.large.manifest import Manifest, delete_unused, record_files
from contextune.tools.large.segment import ALL_FIELDS, GRAPH_FILE, Segment, merge_segments, write_part
from contextune.tools.large.stored_index import index_folder
from contextune.tools.tool_text import tool_text
from contextune.types import Progress, Tool

PART = 20_000
"""Tools that are read, embedded and counted at once while an index is built."""
MAX_RECENT = 10_000
"""Rows of the small segment from which on they are added to the large one."""
_MAX_REMOVED = 0.25
"""Share of removed rows from which on a segment is written anew without them."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class IndexUpdate:
    """What an update did."""

    written: int
    """Tools added or changed."""
    removed: int
    manifest: Manifest


def build_index(
    catalog: CatalogFile,
    embedder: Embedder,
    *,
    vector_cache: VectorCache | None = None,
    part: int = PART,
    threads: int = 0,
    progress: Progress | None = None,
    graph_progress: Progress | None = None,
) -> Manifest:
    """Index all tools of a catalogue file, `part` at a time.

    Vectors are read from the file, or `vector_cache`; the missing ones are computed and stored there.
    `threads=0` uses one thread per core; `threads=1` makes the index reproducible.
    """
    folder = index_folder(catalog)
    folder.mkdir(exist_ok=True)
    with _writing(folder):
        previous = _read_manifest(folder)
        delete_unused(folder, previous)  # what a writer that was killed has left
        generation = previous.generation + 1 if previous else 1
        revision, total = catalog.revision(), catalog.count()
        work = folder / f"parts-{generation}"
        parts: list[Segment] = []
        place, done = -1, 0
        while page := catalog.page(place, part):
            name = work / str(len(parts))
            _write_tools(name, page, embedder, vector_cache or catalog)
            parts.append(Segment.open(name, {}))
            place, done = page[-1][0], done + len(page)
            if progress:
                progress(done, max(done, total))
        if not parts:
            raise StoreError(f"the catalogue {str(catalog.path)!r} is empty: contextune tools add … fills it")
        averages = _average_lengths(parts)
        target = folder / f"segment-{generation}"
        merge_segments(target, [(segment, None) for segment in parts], averages)
        segment = Segment.open(target, averages)
        _write_graph(segment, threads=threads, progress=graph_progress)
        return _publish(folder, previous, generation, embedder.name, revision, averages, [(segment, None)])


def update_index(
    catalog: CatalogFile, embedder: Embedder, *, threads: int = 0, progress: Progress | None = None
) -> IndexUpdate:
    """Apply what changed in the catalogue file since the index was written.

    `progress` is called with the number of changed tools that are embedded.
    """
    folder = index_folder(catalog)
    with _writing(folder):
        old = Manifest.read(folder)
        written, removed, revision = catalog.changed_places(old.revision)
        if old.embedder != embedder.name or old.catalog != revision.catalog:
            raise StoreError(
                f"the index {str(folder)!r} is of another embedder or catalogue file: build it again "
                "(contextune tools index build)"
            )
        if not written and not removed:
            return IndexUpdate(0, 0, old)
        old.check(folder)
        delete_unused(folder, old)
        generation = old.generation + 1
        work = folder / f"parts-{generation}"
        segments = _open_segments(folder, old)
        main, dead = segments[0]
        gone = np.array([*written, *removed], np.int64)
        dead[main.find_rows(gone)] = True
        recent: list[tuple[Segment, Mask | None]] = [
            (segment, _live(segment, mask, gone)) for segment, mask in segments[1:]
        ]
        for number, start in enumerate(range(0, len(written), PART)):
            tools = sorted(catalog.tools(written[start : start + PART]).items())
            if tools:
                _write_tools(work / str(number), tools, embedder, catalog)
                recent.append((Segment.open(work / str(number), {}), None))
            if progress:
                progress(min(start + PART, len(written)), len(written))
        sources = [(segment, kept) for segment, kept in recent if kept is None or kept.any()]
        result = _combine(folder / f"segment-{generation}", main, dead, sources, old, threads)
        manifest = _publish(folder, old, generation, embedder.name, revision, old.averages, result)
        return IndexUpdate(len(written), len(set(removed) - set(written)), manifest)


def _combine(
    target: Path,
    main: Segment,
    dead: Mask,
    recent: Sequence[tuple[Segment, Mask | None]],
    manifest: Manifest,
    threads: int,
) -> list[tuple[Segment, Mask | None]]:
    """The segments of the next generation, each with its removed rows."""
    rows = sum(len(segment) if kept is None else int(kept.sum()) for segment, kept in recent)
    if dead.sum() > _MAX_REMOVED * len(main) or len(main) < MAX_RECENT:
        merge_segments(target, [(main, ~dead), *recent], manifest.averages)
        segment = Segment.open(target, manifest.averages)
        _write_graph(segment, threads=threads)
        return [(segment, None)]
    if rows > MAX_RECENT:
        merge_segments(target, [(main, None), *recent], manifest.averages)
        segment = Segment.open(target, manifest.averages)
        _write_graph(segment, base=main, threads=threads)
        return [(segment, np.concatenate([dead, np.zeros(rows, bool)]))]
    if not rows:
        return [(main, dead)]
    merge_segments(target, recent, manifest.averages)
    return [(main, dead), (Segment.open(target, manifest.averages), None)]


def _write_tools(
    folder: Path, rows: Sequence[tuple[int, Tool]], embedder: Embedder, cache: VectorCache
) -> None:
    places, tools = [place for place, _ in rows], [tool for _, tool in rows]
    vectors = embed_texts([tool_text(tool) for tool in tools], embedder, cache, None)
    pairs = [(n, text) for n, tool in enumerate(tools) for text in tool.examples[:MAX_EXAMPLES]]
    texts = [text for _, text in pairs]
    examples: Matrix = embed_texts(texts, embedder, cache, None) if texts else np.empty((0, 0), np.float32)
    write_part(folder, places, tools, vectors, (examples, [n for n, _ in pairs]))


def _write_graph(
    segment: Segment, *, base: Segment | None = None, threads: int, progress: Progress | None = None
) -> None:
    """Write the graph of a large segment; small ones need none."""
    if len(segment) < ANN_MIN_TOOLS:
        return
    graph = base.folder / GRAPH_FILE if base is not None and base.graph is not None else None
    try:
        write_graph(
            segment.folder / GRAPH_FILE,
            segment.vectors,
            base=graph,
            first=len(base) if graph and base is not None else 0,
            threads=threads,
            progress=progress,
        )
    except MissingExtraError:
        raise MissingExtraError(f"an index of {ANN_MIN_TOOLS:,} tools or more", "big") from None


def _publish(
    folder: Path,
    previous: Manifest | None,
    generation: int,
    embedder: str,
    revision: CatalogRevision,
    averages: Mapping[str, float],
    segments: Sequence[tuple[Segment, Mask | None]],
) -> Manifest:
    """Make segments the current generation, and delete those that nobody reads any more."""
    removed: list[str | None] = []
    live = 0
    for number, (segment, dead) in enumerate(segments):
        live += len(segment) - (0 if dead is None else int(dead.sum()))
        name = f"removed-{generation}-{number}.npy" if dead is not None and dead.any() else None
        if name and dead is not None:
            np.save(folder / name, np.flatnonzero(dead))
        removed.append(name)
    names = [segment.folder.name for segment, _ in segments]
    files = record_files(folder, [*names, *filter(None, removed)], previous.files if previous else {})
    width = segments[0][0].vectors.shape[1]
    manifest = Manifest(
        generation, embedder, width, revision.catalog, revision.number, live, averages, tuple(names),
        tuple(removed), files,
    )  # fmt: skip
    manifest.write(folder)
    delete_unused(folder, manifest, previous)
    return manifest


def _open_segments(folder: Path, manifest: Manifest) -> list[tuple[Segment, Mask]]:
    """The segments of a generation, each with its removed rows."""
    segments: list[tuple[Segment, Mask]] = []
    for name, removed in zip(manifest.segments, manifest.removed, strict=True):
        segment = Segment.open(folder / name, manifest.averages)
        dead = np.zeros(len(segment), bool)
        if removed:
            dead[read_array(folder / removed)] = True
        segments.append((segment, dead))
    return segments


def _live(segment: Segment, dead: Mask, gone: NDArray[np.int64]) -> Mask:
    live = ~dead
    live[segment.find_rows(gone)] = False
    return live


def _average_lengths(parts: Iterable[Segment]) -> dict[str, float]:
    parts = list(parts)
    rows = sum(map(len, parts))
    return {
        field: max(sum(int(part.fields[field].lengths.sum(dtype=np.int64)) for part in parts) / rows, 1e-9)
        for field in ALL_FIELDS
    }


def _read_manifest(folder: Path) -> Manifest | None:
    """The manifest that a build replaces, if there is a usable one."""
    try:
        return Manifest.read(folder)
    except StoreError:
        return None


@contextmanager
def _writing(folder: Path) -> Generator[None]:
    """One writer at a time; the lock ends with its process."""
    if not folder.is_dir():
        raise StoreError(f"no index at {str(folder)!r}: create it with 'contextune tools index build'")
    try:
        with closing(sqlite3.connect(folder / "lock.db", 30.0, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            yield
            connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"another process is writing the index {str(folder)!r}: wait for it ({error})"
        ) from error
