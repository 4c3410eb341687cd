"""The candidates of one request, taken from an index that is not in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Matrix
from contextune.search import similarities
from contextune.tools.catalog import Catalog
from contextune.tools.filter import ToolFilter
from contextune.tools.index import SAMPLED_TOOLS, ToolIndex
from contextune.tools.query import ToolQuery
from contextune.types import Tool


@dataclass(frozen=True, eq=False, kw_only=True)
class SubsetIndex(ToolIndex):
    """A few tools of a large catalogue; statistics of words, servers and vectors are of the whole one."""

    total: int
    """Number of tools in the catalogue."""
    sample: Matrix
    """Vectors of some tools of the whole catalogue."""

    @property
    def size(self) -> int:
        """The number of tools in the catalogue."""
        return self.total

    def all_positions(self) -> NDArray[np.intp] | None:
        """Every tool of a subset is a candidate."""
        return np.arange(len(self.vectors))

    def similarity_spread(self, vector: Matrix) -> tuple[float, float]:
        """Mean and standard deviation of a vector's similarity to the catalogue's tools, from the sample."""
        sample = similarities(vector, self.sample)
        return float(sample.mean()), float(sample.std()) + 0.02


class SubsetCatalog(Catalog):
    """The tools of a subset, read when they are needed."""

    def __init__(self, places: Sequence[int], read: Callable[[Sequence[int]], dict[int, Tool]]) -> None:
        self._places, self._read = places, read
        self._cached: dict[int, Tool] = {}

    def __getitem__(self, index: int) -> Tool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The tool at a position of the subset."""
        return self.at([index])[0]

    def __len__(self) -> int:
        """The number of tools."""
        return len(self._places)

    def at(self, positions: Sequence[int]) -> list[Tool]:
        """The tools at some positions, read at once."""
        places = [self._places[position] for position in positions]
        if missing := [place for place in places if place not in self._cached]:
            self._cached |= self._read(missing)
        return [self._cached[place] for place in places]


class LargeIndex(Protocol):
    """An index that is not in memory: on disk or in a database. A position is a tool's place."""

    @property
    def catalog(self) -> Catalog:
        """The tools, read when they are needed."""
        ...

    @property
    def embedder_name(self) -> str:
        """The name of the embedder of its vectors."""
        ...

    def positions(self, ids: Sequence[str]) -> dict[str, int]:
        """Places of the tools with these ids."""
        ...

    def subset(
        self, query: ToolQuery, tool_filter: ToolFilter | None, depth: int
    ) -> tuple[SubsetIndex, ToolQuery]:
        """The candidates of a request, and the request with its past calls at their positions."""
        ...


def sample_step(rows: int) -> int:
    """Every how many rows one is sampled, as in a `ToolIndex`."""
    return max(1, rows // SAMPLED_TOOLS)


def locate_past_calls(query: ToolQuery, places: Sequence[int]) -> ToolQuery:
    """The query with the tools of its past calls as positions in a subset; -1 for those not in it."""
    past = query.past_calls
    if past is None:
        return query
    position_of = {place: position for position, place in enumerate(places)}
    tools = np.array([position_of.get(place, -1) for place in past.tool.tolist()], np.int64)
    return replace(query, past_calls=replace(past, tool=tools))


def name_index(
    name_words: Sequence[tuple[str, ...]], max_words: int
) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Positions by the words of a name."""
    names: dict[tuple[str, ...], list[int]] = {}
    for position, name in enumerate(name_words):
        if name:
            names.setdefault(name[:max_words], []).append(position)
    return {name: tuple(positions) for name, positions in names.items()}
