"""The inverted index of one field on disk, in the form in which BM25T is computed.

A posting is a row and the frequency of the term in it, divided by the norm of the row's length. The terms of
all fields are numbered together. Segments are merged without tokenizing their texts again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextune._internal.array_files import map_array
from contextune.search.bm25 import length_norms

Rows = NDArray[np.int32]
Floats = NDArray[np.float32]
_CHUNK = 2_000_000
"""Postings merged at once."""


class FieldCounts(NamedTuple):
    """The postings of one field of a part of a catalogue, in memory."""

    starts: NDArray[np.int64]
    rows: Rows
    counts: Floats
    lengths: Rows


@dataclass(frozen=True, eq=False)
class Postings:
    """The postings of one field of a segment, memory-mapped."""

    starts: NDArray[np.int64]
    rows: Rows
    frequencies: Floats
    lengths: Rows
    log_sums: NDArray[np.float64]
    """By term: sum of log(1 + frequency), from which BM25T estimates k1."""
    average_length: float
    """By which the frequencies are normalized; zero if they are plain counts."""

    @classmethod
    def open(cls, folder: Path, field: str, average_length: float) -> "Postings":
        """Map the files of a field."""
        names = ("starts", "rows", "frequencies", "lengths", "log_sums")
        arrays = (map_array(folder / f"words_{field}_{name}.npy") for name in names)
        return cls(*arrays, average_length=average_length)

    def slice(self, term: int) -> slice:
        """Where the postings of a term are."""
        return slice(int(self.starts[term]), int(self.starts[term + 1]))

    def norms(self) -> NDArray[np.float64]:
        """By row: what counts were divided by."""
        if not self.average_length:
            return np.ones(len(self.lengths))
        return length_norms(self.lengths, self.average_length)


def count_terms(documents: Sequence[Sequence[str]], terms: Mapping[str, int]) -> FieldCounts:
    """Count the terms of each document."""
    lengths = np.fromiter(map(len, documents), np.int32, len(documents))
    numbers = np.fromiter(
        (terms[word] for document in documents for word in document), np.int64, int(lengths.sum())
    )
    width = max(len(documents), 1)
    pairs, counts = np.unique(
        numbers * width + np.repeat(np.arange(len(documents)), lengths), return_counts=True
    )
    starts = np.searchsorted(pairs, np.arange(len(terms) + 1) * width)
    return FieldCounts(starts, (pairs % width).astype(np.int32), counts.astype(np.float32), lengths)


def write_counts(folder: Path, field: str, counts: FieldCounts) -> None:
    """Write the postings of a part, with plain counts as frequencies."""
    np.save(folder / f"words_{field}_starts.npy", counts.starts)
    np.save(folder / f"words_{field}_rows.npy", counts.rows)
    np.save(folder / f"words_{field}_frequencies.npy", counts.counts)
    np.save(folder / f"words_{field}_lengths.npy", counts.lengths)
    np.save(folder / f"words_{field}_log_sums.npy", np.zeros(len(counts.starts) - 1))


class MergeSource(NamedTuple):
    """One of the segments that are merged, for one field."""

    postings: Postings
    terms: NDArray[np.int64]
    """By term number of the segment: the number in the merged one."""
    new_rows: NDArray[np.int64]
    """By row of the segment: the row in the merged one, or -1 to drop it."""


def merge_postings(
    folder: Path, field: str, sources: Sequence[MergeSource], terms: int, average_length: float
) -> None:
    """Write the postings of several segments as one; `terms` is the number of terms of the merged segment.

    Only a chunk of the postings is in memory at a time.
    """
    sizes = [_sizes(source, terms) for source in sources]
    starts = np.zeros(terms + 1, np.int64)
    np.cumsum(np.sum(sizes, axis=0), out=starts[1:])
    total = int(starts[-1])
    rows = _create(folder / f"words_{field}_rows.npy", np.int32, total)
    frequencies = _create(folder / f"words_{field}_frequencies.npy", np.float32, total)
    log_sums = np.zeros(terms)
    lengths: list[Rows] = []
    cursor = starts[:-1].copy()
    for source, size in zip(sources, sizes, strict=True):
        kept = source.new_rows >= 0
        source_lengths = source.postings.lengths[:]
        lengths.append(source_lengths[kept])
        scale = source.postings.norms() / length_norms(source_lengths, average_length)
        for first, last in _term_ranges(source.postings.starts):
            part = slice(int(source.postings.starts[first]), int(source.postings.starts[last]))
            old_rows = source.postings.rows[part]
            numbers = np.repeat(np.arange(last - first), np.diff(source.postings.starts[first : last + 1]))
            values = (source.postings.frequencies[part] * scale[old_rows]).astype(np.float32)
            if not kept.all():
                chosen = kept[old_rows]
                old_rows, numbers, values = old_rows[chosen], numbers[chosen], values[chosen]
            targets = source.terms[first:last]
            counts = np.bincount(numbers, minlength=last - first)
            within = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
            places = cursor[targets][numbers] + within
            rows[places] = source.new_rows[old_rows]
            frequencies[places] = values
            log_sums[targets] += np.bincount(numbers, np.log1p(values), last - first)
        cursor += size
    np.save(folder / f"words_{field}_starts.npy", starts)
    np.save(folder / f"words_{field}_log_sums.npy", log_sums)
    np.save(
        folder / f"words_{field}_lengths.npy", np.concatenate(lengths) if lengths else np.empty(0, np.int32)
    )


def _sizes(source: MergeSource, terms: int) -> NDArray[np.int64]:
    """By merged term: how many postings of the segment stay."""
    sizes = np.zeros(terms, np.int64)
    starts = source.postings.starts
    if (source.new_rows >= 0).all():
        sizes[source.terms] = np.diff(starts)
        return sizes
    for first, last in _term_ranges(starts):
        part = slice(int(starts[first]), int(starts[last]))
        numbers = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        kept = source.new_rows[source.postings.rows[part]] >= 0
        sizes[source.terms[first:last]] = np.bincount(numbers[kept], minlength=last - first)
    return sizes


def _term_ranges(starts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges of terms with at most `_CHUNK` postings each, unless one term has more."""
    ranges: list[tuple[int, int]] = []
    first, terms = 0, len(starts) - 1
    while first < terms:
        last = int(np.searchsorted(starts, int(starts[first]) + _CHUNK, side="right")) - 1
        last = min(terms, max(last, first + 1))
        ranges.append((first, last))
        first = last
    return ranges


def _create(path: Path, kind: type[np.generic], size: int) -> NDArray[Any]:
    """A new file of numbers, mapped for writing; an empty one cannot be mapped."""
    if not size:
        np.save(path, np.empty(0, kind))
        return np.empty(0, kind)
    return np.lib.format.open_memmap(path, "w+", kind, (size,))
