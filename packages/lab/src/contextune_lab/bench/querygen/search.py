"""Search with generated queries: one search per query, results interleaved (Kachuee et al.)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contextune.embed import CachedEmbedder, Embedder
from contextune.errors import InvalidRequestError
from contextune.search import interleave, similarities, top
from contextune.tools import ToolRetriever
from contextune_lab.public_data.toolset import read_toolset

DEPTH = 11
"""Length of the result list: the deepest cut-off of the paper."""


class QuerySearch:
    """Semantic search over the sets of `querygen_data`."""

    def __init__(self, sets: Mapping[str, Any], embedder: Embedder) -> None:
        """`sets` are the catalogues and requests by name; a catalogue is embedded on its first search."""
        self.sets = sets
        self._embedder = CachedEmbedder(embedder, size=200_000)
        self._tools: dict[str, np.ndarray] = {}
        self._best: dict[tuple[str, str], list[int]] = {}

    def requests(self, name: str, split: str) -> Iterator[Mapping[str, Any]]:
        """The requests of one split of a set."""
        return (row for row in self.sets[name]["queries"] if row["split"] == split)

    def find_tools(self, name: str, queries: Sequence[Sequence[str]]) -> list[list[str]]:
        """The tools found for each list of queries."""
        texts = {query: None for row in queries for query in row if (name, query) not in self._best}
        for text, places in zip(texts, self._search(name, list(texts)), strict=True):
            self._best[name, text] = places
        return [
            [f"{name}/{n}" for n in interleave([self._best[name, query] for query in row])[:DEPTH]]
            for row in queries
        ]

    def _search(self, name: str, texts: Sequence[str]) -> list[list[int]]:
        """The places of the best tools for each text."""
        if name not in self._tools:
            self._tools[name] = self._embedder.embed(self.sets[name]["tools"])
        tools = self._tools[name]
        return [top(similarities(vector, tools), DEPTH).tolist() for vector in self._embedder.embed(texts)]


class LearnedQuerySearch(QuerySearch):
    """The learned tool ranker over the filtered ToolBench, which it may search as shipped."""

    def __init__(self, sets: Mapping[str, Any], folder: Path, embedder: Embedder) -> None:
        super().__init__(sets, embedder)
        toolset = read_toolset(folder / "toolbench" / "filter", "toolbench")
        self._retriever = ToolRetriever(toolset.tools, self._embedder, method="learned")
        self._places = {tool.id: place for place, tool in enumerate(toolset.tools)}

    def _search(self, name: str, texts: Sequence[str]) -> list[list[int]]:
        if name != "toolbench":
            raise InvalidRequestError(f"the learned search has no catalogue {name!r}: use 'toolbench'")
        self._retriever.embedder.embed(texts)  # one batch, which the embedder caches
        return [[self._places[hit.tool.id] for hit in self._retriever.search(text, DEPTH)] for text in texts]
