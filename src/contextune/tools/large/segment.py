"""Segment: a part of a catalogue's index on disk, memory-mapped when it is opened.

It has one row per tool: place in the catalogue file, vector, server, flags, name and words. The texts of the
tools are not in it. A segment is never changed; `merge_segments` writes a new one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.array_files import map_array
from contextune.embed import Matrix
from contextune.search import identifier_words
from contextune.search.mapped_graph import MappedGraph
from contextune.tools.filter import may_be_destructive
from contextune.tools.large.postings import (
    MergeSource,
    Postings,
    count_terms,
    merge_postings,
    write_counts,
)
from contextune.tools.large.string_table import StringTable
from contextune.tools.tool_text import FIELDS, MAX_NAME_WORDS, field_tokens
from contextune.types import Tool

READ_ONLY, DESTRUCTIVE = 1, 2
"""Flags of a tool."""
ALL_FIELDS = (*FIELDS, "all")
GRAPH_FILE = "graph.usearch"
_CHUNK = 65_536
"""Rows copied at once."""


@dataclass(frozen=True, eq=False)
class Segment:
    """The memory-mapped files of a segment."""

    folder: Path
    places: NDArray[np.int64]
    vectors: NDArray[np.float16]
    app: NDArray[np.int32]
    """Number of each row's server in `apps`."""
    flags: NDArray[np.uint8]
    apps: StringTable
    """Sorted."""
    app_hashes: NDArray[np.uint64]
    """Of the words of servers' names, sorted."""
    app_numbers: NDArray[np.int32]
    """The server of each of `app_hashes`."""
    names: StringTable
    """Words of each row's name, separated by spaces."""
    name_hashes: NDArray[np.uint64]
    """Sorted."""
    name_rows: NDArray[np.int32]
    """The row of each of `name_hashes`."""
    examples: NDArray[np.float16]
    example_rows: NDArray[np.int32]
    terms: StringTable
    """Sorted."""
    fields: Mapping[str, Postings]
    """By name, and "all" for the fields together."""
    graph: MappedGraph | None

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.places)

    @classmethod
    def open(cls, folder: Path, averages: Mapping[str, float]) -> "Segment":
        """Map the files of a segment; `averages` are the mean lengths its frequencies are normalized by."""

        def array(name: str) -> NDArray[Any]:
            return map_array(folder / f"{name}.npy")

        graph = folder / GRAPH_FILE
        vectors = array("vectors")
        return cls(
            folder,
            array("places"),
            vectors,
            array("app"),
            array("flags"),
            StringTable.open(folder, "apps"),
            array("app_hashes"),
            array("app_numbers"),
            StringTable.open(folder, "names"),
            array("name_hashes"),
            array("name_rows"),
            array("examples"),
            array("example_rows"),
            StringTable.open(folder, "terms"),
            {field: Postings.open(folder, field, averages.get(field, 0.0)) for field in ALL_FIELDS},
            MappedGraph.open(graph, vectors.shape[1], len(vectors)) if graph.exists() else None,
        )

    @cached_property
    def _place_order(self) -> NDArray[np.intp]:
        return np.argsort(self.places, kind="stable")

    def find_rows(self, places: Sequence[int] | NDArray[np.int64]) -> NDArray[np.intp]:
        """All rows of these places; a tool that was changed may have a removed row, too."""
        wanted = np.asarray(places, np.int64)
        if not len(wanted):
            return np.empty(0, np.intp)
        order = self._place_order
        first = np.searchsorted(self.places, wanted, side="left", sorter=order)
        counts = np.searchsorted(self.places, wanted, side="right", sorter=order) - first
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return order[np.repeat(first, counts) + within]

    @cached_property
    def dense(self) -> Matrix:
        """All vectors in memory, for a segment without a graph."""
        return self.vectors.astype(np.float32)

    @cached_property
    def wide_terms(self) -> list[str]:
        """The terms beyond plain ASCII, which may be variants of a word."""
        return [term.decode() for term in self.terms if not term.isascii()]


def name_key(words: Iterable[str]) -> int:
    """A hash of the words of a name."""
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8).digest(), "little")


def write_part(
    folder: Path,
    places: Sequence[int],
    tools: Sequence[Tool],
    vectors: Matrix,
    examples: tuple[Matrix, Sequence[int]],
) -> None:
    """Write the segment of a part of a catalogue; `examples` are vectors and the number of their tool."""
    folder.mkdir(parents=True)
    tokens = [field_tokens(tool) for tool in tools]
    words = sorted({word for fields in tokens for field in FIELDS for word in fields[field]}, key=str.encode)
    terms = {word: number for number, word in enumerate(words)}
    for field in FIELDS:
        write_counts(folder, field, count_terms([fields[field] for fields in tokens], terms))
    together = [[word for field in FIELDS for word in fields[field]] for fields in tokens]
    write_counts(folder, "all", count_terms(together, terms))
    StringTable.write(folder, "terms", (word.encode() for word in words))
    apps = sorted({_encode(tool.app) for tool in tools})
    numbers = {app: number for number, app in enumerate(apps)}
    _write_apps(folder, apps)
    np.save(folder / "app.npy", np.array([numbers[_encode(tool.app)] for tool in tools], np.int32))
    names = [identifier_words(tool.name) for tool in tools]
    StringTable.write(folder, "names", (" ".join(name).encode() for name in names))
    _write_hashes(folder, np.array([name_key(name[:MAX_NAME_WORDS]) for name in names], np.uint64))
    np.save(folder / "flags.npy", np.array(list(map(_flags, tools)), np.uint8))
    np.save(folder / "places.npy", np.array(places, np.int64))
    np.save(folder / "vectors.npy", vectors.astype(np.float16))
    example_vectors, owners = examples
    np.save(folder / "examples.npy", example_vectors.astype(np.float16).reshape(-1, vectors.shape[1]))
    np.save(folder / "example_rows.npy", np.array(owners, np.int32))


def merge_segments(
    folder: Path, sources: Sequence[tuple[Segment, NDArray[np.bool_] | None]], averages: Mapping[str, float]
) -> None:
    """Write several segments as one, without a graph; each comes with the rows to keep, None for all."""
    folder.mkdir(parents=True)
    new_rows: list[NDArray[np.int64]] = []
    offset = 0
    for segment, kept in sources:
        chosen = np.ones(len(segment), bool) if kept is None else kept
        new_rows.append(np.where(chosen, offset + np.cumsum(chosen) - 1, -1))
        offset += int(chosen.sum())
    terms, term_numbers = _union([segment.terms for segment, _ in sources])
    StringTable.write(folder, "terms", terms)
    for field in ALL_FIELDS:
        merged = [
            MergeSource(segment.fields[field], numbers, rows)
            for (segment, _), numbers, rows in zip(sources, term_numbers, new_rows, strict=True)
        ]
        merge_postings(folder, field, merged, len(terms), averages[field])
    apps, app_numbers = _union([segment.apps for segment, _ in sources])
    _write_apps(folder, apps)
    kept_rows = [rows >= 0 for rows in new_rows]
    parts = list(zip((segment for segment, _ in sources), kept_rows, strict=True))
    app_parts = zip(parts, app_numbers, strict=True)
    np.save(folder / "app.npy", _join([n[s.app[:]][kept] for (s, kept), n in app_parts], np.int32))
    np.save(folder / "flags.npy", _join([s.flags[:][kept] for s, kept in parts], np.uint8))
    np.save(folder / "places.npy", _join([s.places[:][kept] for s, kept in parts], np.int64))
    names = (name for s, kept in parts for name, keep in zip(s.names, kept.tolist(), strict=True) if keep)
    StringTable.write(folder, "names", names)
    _write_hashes(folder, _join([_hashes(s)[kept] for s, kept in parts], np.uint64))
    _merge_vectors(folder, parts, offset)
    examples = [(s, s.example_rows[:], rows) for (s, _), rows in zip(sources, new_rows, strict=True)]
    width = sources[0][0].vectors.shape[1]
    vectors = [s.examples[:][rows[owners] >= 0] for s, owners, rows in examples]
    np.save(folder / "examples.npy", np.concatenate(vectors).reshape(-1, width))
    owners = [rows[owner][rows[owner] >= 0] for _, owner, rows in examples]
    np.save(folder / "example_rows.npy", _join(owners, np.int32))


def _merge_vectors(folder: Path, parts: Sequence[tuple[Segment, NDArray[np.bool_]]], rows: int) -> None:
    width = parts[0][0].vectors.shape[1]
    if not rows:
        np.save(folder / "vectors.npy", np.empty((0, width), np.float16))
        return
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float16, (rows, width))
    place = 0
    for segment, kept in parts:
        for start in range(0, len(segment), _CHUNK):
            chunk = segment.vectors[start : start + _CHUNK][kept[start : start + _CHUNK]]
            vectors[place : place + len(chunk)] = chunk
            place += len(chunk)
    vectors.flush()


def _union(tables: Sequence[StringTable]) -> tuple[list[bytes], list[NDArray[np.int64]]]:
    """The distinct strings of sorted tables, sorted; and for each table the new numbers of its strings."""
    strings = sorted(set[bytes]().union(*tables))
    numbers = {string: number for number, string in enumerate(strings)}
    return strings, [np.array([numbers[string] for string in table], np.int64) for table in tables]


def _join(parts: Sequence[NDArray[np.generic]], kind: type[np.generic]) -> NDArray[np.generic]:
    return np.concatenate(parts).astype(kind) if parts else np.empty(0, kind)


def _hashes(segment: Segment) -> NDArray[np.uint64]:
    """The hash of each row's name."""
    hashes = np.empty(len(segment), np.uint64)
    hashes[segment.name_rows] = segment.name_hashes
    return hashes


def _write_hashes(folder: Path, hashes: NDArray[np.generic]) -> None:
    order = np.argsort(hashes, kind="stable")
    np.save(folder / "name_hashes.npy", hashes[order])
    np.save(folder / "name_rows.npy", order.astype(np.int32))


def _write_apps(folder: Path, apps: Sequence[bytes]) -> None:
    StringTable.write(folder, "apps", apps)
    words = (identifier_words(app.decode("utf-8", "surrogatepass")) for app in apps)
    hashes = np.fromiter(map(name_key, words), np.uint64, len(apps))
    order = np.argsort(hashes, kind="stable")
    np.save(folder / "app_hashes.npy", hashes[order])
    np.save(folder / "app_numbers.npy", order.astype(np.int32))


def _flags(tool: Tool) -> int:
    return READ_ONLY * bool(tool.annotations.read_only) | DESTRUCTIVE * may_be_destructive(tool)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
