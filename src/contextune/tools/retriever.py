"""ToolRetriever: a request → the few tools of a catalogue that can serve it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Thread
from typing import Self

import numpy as np
from numpy.typing import NDArray

from contextune.embed import CachedEmbedder, Embedder, Matrix, default_embedder
from contextune.errors import InvalidRequestError
from contextune.tools.bounded import bound_descriptions
from contextune.tools.bundled_vectors import bundled_vectors
from contextune.tools.candidates import DEPTH
from contextune.tools.catalog import Catalog
from contextune.tools.filter import ToolFilter
from contextune.tools.index import ToolIndex, VectorCache
from contextune.tools.large.subset import LargeIndex
from contextune.tools.matches import MIN_FIT, ToolMatches
from contextune.tools.methods import (
    DEFAULT_METHOD,
    FUSED,
    LEXICAL_METHODS,
    METHODS,
    READING,
    ToolSearch,
    learned,
)
from contextune.tools.naming import find_telling_names
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.tools.ranker import ToolRanker, default_tool_ranker
from contextune.tools.reading import READ_FIRST, read_first
from contextune.tools.subqueries import split_subqueries
from contextune.tools.unknown_words import unknown_words
from contextune.types import ItemHit, Progress, Reasons, Tool, ToolHit

_NAME_AWARE_METHODS = ("hybrid", "learned", "reading")
"""Methods that put a tool named in the request first, and divide a request that asks for several things;
bm25 and semantic stay plain baselines."""
FEW_TOOLS = 64
"""So many tools are embedded at once: that takes about a second."""


class ToolRetriever:
    """Searches a catalogue of tools. Safe to share between threads."""

    def __init__(
        self,
        tools: Iterable[Tool],
        embedder: Embedder | None = None,
        *,
        method: str = DEFAULT_METHOD,
        ranker: ToolRanker | None = None,
        split_requests: bool = True,
        bounded: bool = False,
        min_fit: float | None = None,
        vector_cache: VectorCache | None = None,
        progress: Progress | None = None,
        wait: bool = True,
    ) -> None:
        """Embed and index the tools; with bm25, nothing is embedded.

        With the method reading, the first ten of the method learned are read beside the request.
        `ranker` replaces the bundled one. With `split_requests`, a request that asks for several things is
        also searched by part, with the methods hybrid and learned. With `bounded`, only the sentences of a
        description that are about its tool are searched, so that a server cannot recommend its tools for
        everything. With `min_fit`, `search` finds nothing where `fits` is lower; `contextune eval tools`
        prints values for your catalogue. `vector_cache` keeps vectors between runs; without it, only those of
        the bundled toolbox are known. `progress` is called with the number of tools embedded so far. Without
        `wait`, a catalogue with many new tools is searched by words while a thread embeds it (see `ready`).
        """
        self.catalog = tools if isinstance(tools, Catalog) else Catalog(tools)
        self._set_method(method, ranker, split_requests)
        self.min_fit = check_min_fit(min_fit)
        self._embedder = embedder
        self.index: ToolIndex | LargeIndex
        self._searched: Mapping[str, Tool] = {}
        self._embedding: Thread | None = None
        self._error: Exception | None = None
        if self._lexical:
            searched = self._bound() if bounded else None
            self.index = ToolIndex.lexical(self.catalog, searched)
            return
        cache = bundled_vectors() if vector_cache is None else vector_cache

        def build() -> None:
            searched = self._bound(self.embedder, cache) if bounded else None
            self.index = ToolIndex.build(
                self.catalog, self.embedder, vector_cache=cache, progress=progress, searched=searched
            )

        if wait or len(self.catalog) <= FEW_TOOLS:
            build()
            return
        self.index = ToolIndex.lexical(self.catalog, self._bound() if bounded else None)
        self._embedding = Thread(target=self._run, args=(build,), name="contextune-embed-tools", daemon=True)
        self._embedding.start()

    def _run(self, build: Callable[[], None]) -> None:
        try:
            build()
        except Exception as error:  # raised by the next search
            self._error = error

    @property
    def ready(self) -> bool:
        """Whether all tools have vectors; until then, searches are by words, and `fits` is None."""
        return self._lexical or not _has_words_only(self.index)

    def join(self, timeout: float | None = None) -> None:
        """Wait until the tools are embedded, or as many seconds."""
        if self._embedding:
            self._embedding.join(timeout)

    def _bound(
        self, embedder: Embedder | None = None, vector_cache: VectorCache | None = None
    ) -> Sequence[Tool]:
        searched = bound_descriptions(self.catalog, embedder, vector_cache)
        self._searched = {tool.id: tool for tool in searched}
        return searched

    @classmethod
    def from_index(
        cls,
        index: LargeIndex,
        embedder: Embedder | None = None,
        *,
        method: str = DEFAULT_METHOD,
        ranker: ToolRanker | None = None,
        split_requests: bool = True,
        min_fit: float | None = None,
    ) -> Self:
        """Search an index that is not in memory, such as `StoredIndex` or `PostgresCatalog`."""
        retriever = cls((), method="bm25", min_fit=min_fit)
        retriever.catalog, retriever.index, retriever._embedder = index.catalog, index, embedder
        retriever._set_method(method, ranker, split_requests)
        retriever._lexical = False  # candidates are chosen by meaning too
        if retriever.embedder.name != index.embedder_name:
            raise InvalidRequestError(
                f"the index is of the embedder {index.embedder_name!r}, not {retriever.embedder.name!r}"
            )
        return retriever

    def _set_method(self, method: str, ranker: ToolRanker | None, split_requests: bool) -> None:
        if method not in METHODS:
            raise InvalidRequestError(f"unknown method {method!r}: use one of {', '.join(METHODS)}")
        self._method = METHODS[method]
        self._name_aware = method in _NAME_AWARE_METHODS
        self._split_requests = split_requests and self._name_aware
        self._learned = METHODS[method] is learned
        self._reads = method == READING
        self._lexical = method in LEXICAL_METHODS
        self._ranker = (lambda: ranker) if ranker else default_tool_ranker

    def as_searched(self, tool: Tool) -> Tool:
        """A tool with the texts that may count for its rank: its own, unless they are `bounded`."""
        return self._searched.get(tool.id, tool)

    @cached_property
    def embedder(self) -> CachedEmbedder:
        """The embedder of tools and requests, loaded only if the method needs it."""
        return CachedEmbedder(self._embedder or default_embedder())

    def search(
        self,
        text: str,
        k: int = 10,
        *,
        context: QueryContext | Sequence[ItemHit] = (),
        always: Sequence[str] = (),
        filter: ToolFilter | None = None,  # noqa: A002
    ) -> list[ToolHit]:
        """The best `k` tools for a request; the first of them are those of a smaller `k`.

        `context` are items the request refers to. The tools in `always` come first, whatever the request;
        nothing else is found if the retriever has a `min_fit` and none fits.
        """
        matches = self.find(text, k, context=context, always=always, filter=filter)
        if self.min_fit is not None and matches.none_fits:
            pinned = {self.catalog.tool(name).id for name in always}
            return [hit for hit in matches.hits if hit.tool.id in pinned]
        return list(matches.hits)

    def find(
        self,
        text: str,
        k: int = 10,
        *,
        context: QueryContext | Sequence[ItemHit] = (),
        past_calls: PastCalls | None = None,
        app_probabilities: Mapping[str, float] | None = None,
        always: Sequence[str] = (),
        filter: ToolFilter | None = None,  # noqa: A002
    ) -> ToolMatches:
        """Like `search`, with the probability that any tool fits.

        `past_calls` are the user's earlier requests and the tools called for them; `app_probabilities` say
        which application the text is about. `Tuner.tools` fills in both.
        """
        if not text.strip():
            raise InvalidRequestError("text is empty: pass what the user said")
        if k < 1:
            raise InvalidRequestError(f"k must be at least 1, not {k!r}")
        pinned = {tool.id: tool for tool in map(self.catalog.tool, always)}
        depth = max(k, READ_FIRST) + len(pinned) if self._reads else k
        matches = self._find(text, depth, context, past_calls, app_probabilities, filter)
        hits = tuple(hit for hit in matches.hits if hit.tool.id not in pinned)
        if self._reads and self.ready:
            read = read_first(replace(matches, hits=hits), text, self.as_searched)
            hits = read.hits
        hits = hits[:k] if self._reads else hits
        first = (ToolHit(tool, 1.0, ("always offered",)) for tool in pinned.values())
        return replace(matches, hits=(*first, *hits))

    def _find(
        self,
        text: str,
        k: int,
        context: QueryContext | Sequence[ItemHit],
        past_calls: PastCalls | None,
        app_probabilities: Mapping[str, float] | None,
        tool_filter: ToolFilter | None,
    ) -> ToolMatches:
        if self._error:
            raise self._error
        whole = self.index
        by_words = self._lexical or _has_words_only(whole)
        parts = split_subqueries(text) if self._split_requests and not by_words else ()
        vectors = np.empty((1, 0), np.float32) if by_words else self.embedder.embed([text, *parts])
        vector = vectors[0]
        needs_context = None if by_words else self._needs_context(vector)
        query = ToolQuery(
            text,
            vector,
            None if by_words else self._context(context),
            None if by_words else past_calls,
            app_probabilities or {},
            1.0 if needs_context is None else needs_context,
        )
        if parts:
            query = query.with_parts(parts, vectors[1:])
        index, query, visible = self._scope(whole, query, tool_filter, k)
        method = METHODS["bm25"] if by_words else self._method
        ranking = method(ToolSearch(index, query, visible, k, self._ranker))
        named = [n for n in index.find_named(query.spans) if visible[n]] if self._name_aware else []
        index.catalog.at([*named, *(position for position, _ in ranking.scored[:k])])  # one read for all
        leading = find_telling_names(index, text, named)
        others = (position for position, _ in ranking.scored if position not in leading)
        order = [*leading, *others][:k]
        scores = dict(ranking.scored)
        hits: list[ToolHit] = []
        for position, tool in zip(order, index.catalog.at(order), strict=True):
            by_name = ("the request names it",) if position in leading else ()
            reasons = Reasons(
                lambda position=position, by_name=by_name: _unique(*by_name, *ranking.reasons(position))
            )
            hits.append(ToolHit(tool, scores.get(position, 0.0), reasons))
        return ToolMatches(
            tuple(hits),
            None if needs_context is None else ranking.fits,
            needs_context,
            MIN_FIT if self.min_fit is None else self.min_fit,
            tuple(index.catalog[position].id for position in leading),
            unknown_words(text, index, visible if tool_filter else None) if self._learned else (),
        )

    def knows_word(self, word: str) -> bool:
        """Whether a tool has a word; not asked of a catalogue that is not in memory."""
        return isinstance(self.index, ToolIndex) and self.index.fields["all"].document_frequency(word) > 0

    def _scope(
        self, whole: ToolIndex | LargeIndex, query: ToolQuery, tool_filter: ToolFilter | None, k: int
    ) -> tuple[ToolIndex, ToolQuery, NDArray[np.bool_]]:
        """The index to search in memory: all tools, or the candidates from a larger index."""
        if isinstance(whole, ToolIndex):
            return whole, query, whole.visible(tool_filter)
        depth = max(DEPTH if self._learned else 2 * FUSED, k)
        index, query = whole.subset(query, tool_filter, depth)
        return index, query, np.ones(len(index.catalog), bool)

    def _needs_context(self, vector: Matrix) -> float | None:
        """None unless the ranker was trained with this embedder: probabilities hold for no other."""
        if not self._learned or self._ranker().about.get("embedder") != self.embedder.name:
            return None
        return self._ranker().abstention.needs_context(vector)

    def _context(self, context: QueryContext | Sequence[ItemHit]) -> QueryContext | None:
        if isinstance(context, QueryContext):
            return context
        if not context:
            return None
        hits = context[: QueryContext.MAX_ITEMS]
        vectors = self.embedder.embed([hit.item.text for hit in hits])
        return QueryContext.from_hits(hits, vectors)


def _has_words_only(index: ToolIndex | LargeIndex) -> bool:
    return isinstance(index, ToolIndex) and len(index.catalog) > 0 and not index.vectors.shape[1]


def check_min_fit(min_fit: float | None) -> float | None:
    """The threshold; raises unless it is a probability."""
    if min_fit is not None and not 0 <= min_fit <= 1:
        raise InvalidRequestError(f"min_fit must be from 0 to 1, not {min_fit!r}")
    return min_fit


def _unique(*reasons: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons))
