"""One state of an index on disk: segments, and which of their rows still are tools of the catalogue."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Matrix
from contextune.search import identifier_words, similarities, top
from contextune.tools.candidates import Mask, Positions, select_candidates
from contextune.tools.filter import ToolFilter
from contextune.tools.large.field_words import FieldWords, SubsetWords, Vocabulary
from contextune.tools.large.segment import ALL_FIELDS, DESTRUCTIVE, READ_ONLY, Segment, name_key
from contextune.tools.large.subset import (
    SubsetCatalog,
    SubsetIndex,
    locate_past_calls,
    name_index,
    sample_step,
)
from contextune.tools.query import ToolQuery
from contextune.tools.tool_text import MAX_NAME_WORDS, Span
from contextune.types import Tool

_SMALL = 20_000
"""Up to so many rows, comparing each is as fast as a graph."""
_CHUNK = 65_536
_REFINED, _MIN_REFINED = 4, 128
"""Nearest rows by the graph's int8 vectors that are compared by their own, per row wanted and at least."""
_MAX_SAME_NAME = 32
"""Of a name that more tools have, only those of servers named in the request are candidates by name."""
_KEPT_SAME_NAME = 2
ReadTools = Callable[[Sequence[int]], dict[int, Tool]]


class IndexSnapshot:
    """Searches the segments of an index. Immutable and thread-safe."""

    def __init__(self, segments: Sequence[Segment], removed: Iterable[NDArray[np.intp]]) -> None:
        self.segments = segments
        self._offsets: list[int] = np.cumsum([0, *map(len, segments)]).tolist()
        self.live = np.ones(self._offsets[-1], bool)
        """By row: whether the tool is still in the catalogue."""
        for (_, offset), rows in zip(self._parts(), removed, strict=True):
            self.live[offset + rows] = False
        self.live.flags.writeable = False
        self.count = int(self.live.sum())
        """The number of tools."""
        vocabulary = Vocabulary(segments)
        vocabulary.variants  # noqa: B018  # read now, not during the first request
        self._fields = {field: FieldWords(field, segments, vocabulary) for field in ALL_FIELDS}
        self._app_sizes = [
            np.bincount(segment.app[self.live[offset : offset + len(segment)]], minlength=len(segment.apps))
            for segment, offset in self._parts()
        ]
        rows = np.flatnonzero(self.live)
        self._sample = self._vectors(rows[:: sample_step(len(rows))])

    def visible(self, tool_filter: ToolFilter | None, hidden_places: Sequence[int] = ()) -> Mask:
        """Which rows a search may return; `hidden_places` have changed since the index was written."""
        if tool_filter is None and not len(hidden_places):
            return self.live
        visible = self.live.copy()
        for segment, offset in self._parts():
            part = visible[offset : offset + len(segment)]
            part[segment.find_rows(hidden_places)] = False
            if tool_filter is None:
                continue
            if tool_filter.servers is not None:
                numbers = [segment.apps.find(_encode(app)) for app in tool_filter.servers]
                chosen = np.zeros(len(segment.apps) + 1, bool)
                chosen[[number for number in numbers if number is not None]] = True
                part &= chosen[segment.app]
            for flag, wanted in (
                (READ_ONLY, tool_filter.read_only), (DESTRUCTIVE, tool_filter.destructive)
            ):  # fmt: skip
                if wanted is not None:
                    part &= ((segment.flags & flag) > 0) == wanted
        return visible

    def subset(
        self,
        query: ToolQuery,
        visible: Mask,
        depth: int,
        read: ReadTools,
        accept: Callable[[Tool], bool] | None = None,
    ) -> tuple[SubsetIndex, ToolQuery]:
        """The candidates of a request as an index of their own."""
        if query.past_calls is not None:
            past = query.past_calls.tool
            rows = [offset + segment.find_rows(past) for segment, offset in self._parts()]
            past_rows = np.concatenate(rows)
        else:
            past_rows = np.empty(0, np.intp)
        rows = select_candidates(self, replace(query, past_calls=None), visible, depth)
        rows = np.unique(np.concatenate([rows, past_rows[visible[past_rows]]]))
        places = self._places(rows)
        tools = read(places.tolist()) if accept else {}
        if accept:
            kept = [place in tools and accept(tools[place]) for place in places.tolist()]
            rows, places = rows[kept], places[kept]
        index = self._subset(rows, SubsetCatalog(places.tolist(), read))
        return index, locate_past_calls(query, places.tolist())

    def all_positions(self) -> Positions | None:
        """None: the rows are too many to be candidates for every request."""
        return None

    def nearest(self, vector: Matrix, k: int, visible: Mask | None = None) -> Positions:
        """About the `k` visible rows most similar to a vector, best first."""
        mask = self.live if visible is None else visible
        parts = [
            offset + _nearest(segment, vector, k, mask[offset : offset + len(segment)])
            for segment, offset in self._parts()
        ]
        rows = np.sort(np.concatenate(parts))
        return rows[top(similarities(vector, self._vectors(rows)), k)]

    def best_by_words(self, tokens: Sequence[str], k: int, visible: Mask | None = None) -> Positions:
        """About the `k` visible rows that score best by BM25T, best first."""
        mask = self.live if visible is None else visible
        everything = mask is self.live and self.count == len(mask)
        return self._fields["all"].best(tokens, k, None if everything else mask)

    def best_by_examples(self, vector: Matrix, k: int, visible: Mask | None = None) -> Positions:
        """The `k` visible rows with the nearest examples, best first."""
        mask = self.live if visible is None else visible
        rows: list[Positions] = []
        scores: list[NDArray[np.float32]] = []
        for segment, offset in self._parts():
            owners = segment.example_rows[:].astype(np.intp) + offset
            for start in range(0, len(owners), _CHUNK):
                rows.append(owners[start : start + _CHUNK])
                scores.append(
                    similarities(vector, segment.examples[start : start + _CHUNK].astype(np.float32))
                )
        if not rows:
            return np.empty(0, np.intp)
        owner, similarity = np.concatenate(rows), np.concatenate(scores)
        order = np.argsort(-similarity, kind="stable")
        best = dict.fromkeys(owner[order][mask[owner[order]]].tolist())
        return np.array(list(best)[:k], np.intp)

    def nearest_of_apps(
        self, vector: Matrix, apps: Collection[str], k: int, visible: Mask | None = None
    ) -> Positions:
        """The `k` visible rows of these servers most similar to a vector, best first."""
        mask = self.live if visible is None else visible
        parts: list[Positions] = [np.empty(0, np.intp)]
        for segment, offset in self._parts():
            found = [segment.apps.find(_encode(app)) for app in apps]
            numbers = [number for number in found if number is not None]
            if numbers:
                parts.append(offset + np.flatnonzero(np.isin(segment.app, numbers)))
        rows = np.concatenate(parts)
        rows = rows[mask[rows]]
        return rows[top(similarities(vector, self._vectors(rows)), k)]

    def find_named(self, spans: Iterable[Span]) -> list[int]:
        """Rows of the tools whose name is one of these spans."""
        keys = np.sort(np.array([name_key(span) for span in spans], np.uint64))  # near ones in turn
        named: list[int] = []
        for segment, offset in self._parts():
            found = [segment.app_numbers[part] for part in _found(segment.app_hashes, keys)]
            servers = np.concatenate([segment.app_numbers[:0], *found])
            for part in _found(segment.name_hashes, keys):
                rows = segment.name_rows[part].astype(np.intp)
                if len(rows) > _MAX_SAME_NAME:
                    of_servers = rows[np.isin(segment.app[rows], servers)][:_MAX_SAME_NAME]
                    rows = np.union1d(of_servers, rows[:_KEPT_SAME_NAME])
                named += (offset + rows).tolist()
        return named

    def _subset(self, rows: Positions, catalog: SubsetCatalog) -> SubsetIndex:
        apps: list[str] = []
        names: list[tuple[str, ...]] = []
        lengths: list[int] = []
        app_names: dict[tuple[int, int], str] = {}
        bounds = np.searchsorted(rows, self._offsets)
        for number, (segment, offset) in enumerate(self._parts()):
            local = rows[bounds[number] : bounds[number + 1]] - offset
            keys = [(number, app) for app in segment.app[local].tolist()]
            new = list(dict.fromkeys(keys))
            app_names |= zip(new, map(_decode, segment.apps.take([app for _, app in new])), strict=True)
            apps += [app_names[key] for key in keys]
            names += [tuple(name.decode().split()) for name in segment.names.take(local)]
            lengths += segment.fields["description"].lengths[local].tolist()
        app_numbers: dict[str, int] = {}
        app = np.array([app_numbers.setdefault(name, len(app_numbers)) for name in apps], np.int64)
        distinct = list(app_numbers)
        examples, owners = self._examples(rows)
        return SubsetIndex(
            catalog,
            self._vectors(rows),
            {field: SubsetWords(words, rows) for field, words in self._fields.items()},
            name_index(names, MAX_NAME_WORDS),
            names,
            np.array(lengths, np.float64),
            distinct,
            app,
            np.array(self._count_tools(app_names, distinct), np.float64),
            list(map(_app_words, distinct)),
            examples=examples,
            example_of=owners,
            total=self.count,
            sample=self._sample,
        )

    def _examples(self, rows: Positions) -> tuple[Matrix | None, NDArray[np.int64] | None]:
        """The vectors of the examples of some rows, and the position of each one's row."""
        vectors: list[Matrix] = []
        owners: list[NDArray[np.int64]] = []
        for segment, offset in self._parts():
            if not len(segment.example_rows):
                continue
            example_rows = segment.example_rows[:].astype(np.int64) + offset
            chosen = np.flatnonzero(np.isin(example_rows, rows))
            vectors.append(segment.examples[chosen].astype(np.float32))
            owners.append(np.searchsorted(rows, example_rows[chosen]))
        if not any(map(len, vectors)):
            return None, None
        return np.concatenate(vectors), np.concatenate(owners)

    def _count_tools(self, numbers: Mapping[tuple[int, int], str], apps: Sequence[str]) -> list[int]:
        """The number of tools of each server; `numbers` are those known already, by segment."""
        known = {(segment, app): number for (segment, number), app in numbers.items()}
        counts = dict.fromkeys(apps, 0)
        for position, (segment, sizes) in enumerate(zip(self.segments, self._app_sizes, strict=True)):
            for app in apps:
                number = known.get((position, app))
                if number is None and len(self.segments) > 1:
                    number = segment.apps.find(_encode(app))
                counts[app] += 0 if number is None else int(sizes[number])
        return list(counts.values())

    def _parts(self) -> Iterator[tuple[Segment, int]]:
        """The segments, each with its first row."""
        return zip(self.segments, self._offsets[:-1], strict=True)

    def _vectors(self, rows: Positions) -> Matrix:
        return _gather(self.segments, self._offsets, rows, lambda segment: segment.vectors).astype(np.float32)

    def _places(self, rows: Positions) -> NDArray[np.int64]:
        return _gather(self.segments, self._offsets, rows, lambda segment: segment.places)


def _gather(
    segments: Sequence[Segment],
    offsets: Sequence[int],
    rows: Positions,
    column: Callable[[Segment], NDArray[Any]],
) -> NDArray[Any]:
    """The values of a column in some rows, which are in ascending order or in any other."""
    first = column(segments[0])
    if len(segments) == 1:
        return first[rows]
    values = np.empty((len(rows), *first.shape[1:]), first.dtype)
    for segment, start in zip(segments, offsets, strict=False):
        inside = (rows >= start) & (rows < start + len(segment))
        values[inside] = column(segment)[rows[inside] - start]
    return values


def _nearest(segment: Segment, vector: Matrix, k: int, visible: Mask) -> Positions:
    """A segment's rows that may be among the nearest, at least `k` of them if there are."""
    choices = int(np.count_nonzero(visible))
    graph = segment.graph
    if graph is not None and choices > _SMALL:
        for effort in (max(graph.effort, 2 * k), max(8 * graph.effort, 4 * k)):
            rows, distances = graph.nearest(vector, effort)
            kept = visible[rows]
            rows, distances = rows[kept], distances[kept]
            if len(rows) >= min(k, choices):
                last = min(len(rows), max(_MIN_REFINED, _REFINED * k)) - 1
                return rows[distances <= distances[last]]
    if len(segment) <= _SMALL:
        return top(similarities(vector, segment.dense), k, visible=visible)
    rows = np.flatnonzero(visible)
    best: list[Positions] = [np.empty(0, np.intp)]
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        best.append(part[top(similarities(vector, segment.vectors[part].astype(np.float32)), k)])
    return np.concatenate(best)


def _found(hashes: NDArray[np.uint64], keys: NDArray[np.uint64]) -> list[slice]:
    """Where those of the keys that occur are among sorted hashes."""
    first, last = (np.searchsorted(hashes, keys, side=side) for side in ("left", "right"))
    pairs = zip(first.tolist(), last.tolist(), strict=True)
    return [slice(start, stop) for start, stop in pairs if start < stop]


@lru_cache(65_536)
def _app_words(app: str) -> frozenset[str]:
    return frozenset(identifier_words(app))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")
