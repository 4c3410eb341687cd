"""ToolRetriever: a request → the few tools of a catalogue that can serve it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
from contextune.tools.methods import DEFAULT_METHOD, FUSED, LEXICAL_METHODS, METHODS, ToolSearch, learned
from contextune.tools.naming import find_telling_names
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.tools.ranker import ToolRanker, default_tool_ranker
from contextune.tools.subqueries import split_subqueries
from contextune.tools.unknown_words import unknown_words
from contextune.types import ItemHit, Progress, Reasons, Tool, ToolHit

_NAME_AWARE_METHODS = ("hybrid", "learned")
"""Methods that put a tool named in the request first, and divide a request that asks for several things;
bm25 and semantic stay plain baselines."""
MIN_FIT = 0.45
"""With a lower `fits`, no tool fits, unless the caller chooses another threshold."""


@dataclass(frozen=True, slots=True)
class ToolMatches:
    """The tools for a request, best first.

    `fits` is the probability that any tool of the catalogue serves the request, `needs_context` the
    probability that its text alone does not say what is meant. Both are None with the plain methods,
    and with an embedder that the ranker was not trained with. The hits are the nearest tools even if none
    fits.
    """

    hits: tuple[ToolHit, ...]
    fits: float | None = None
    needs_context: float | None = None
    min_fit: float = field(default=MIN_FIT, compare=False)
    """With a lower `fits`, none fits."""
    named: tuple[str, ...] = field(default=(), compare=False)
    """Ids of the tools that the request names, which come first."""
    unknown_words: tuple[str, ...] = field(default=(), compare=False)
    """Words of the request that no tool's text has."""

    @property
    def none_fits(self) -> bool:
        """Whether the request names no tool, and `fits` is known and below `min_fit`."""
        return not self.named and self.fits is not None and self.fits < self.min_fit

    def first(self, count: int, keep: str | None = None) -> tuple[ToolHit, ...]:
        """The first `count` hits; the tool with id `keep` replaces the last if it comes further behind."""
        shown = self.hits[:count]
        kept = next((hit for hit in self.hits[count:] if hit.tool.id == keep), None)
        return (*shown[:-1], kept) if kept else shown


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
    ) -> None:
        """Embed and index the tools; with bm25, nothing is embedded.

        `ranker` replaces the bundled one. With `split_requests`, a request that asks for several things is
        also searched by part, with the methods hybrid and learned. With `bounded`, only the sentences of a
        description that are about its tool are searched, so that a server cannot recommend its tools for
        everything. With `min_fit`, `search` finds nothing where `fits` is lower; `contextune eval tools`
        prints values for your catalogue. `vector_cache` keeps vectors between runs; without it, only those of
        the bundled toolbox are known. `progress` is called with the number of tools embedded so far.
        """
        self.catalog = tools if isinstance(tools, Catalog) else Catalog(tools)
        self._set_method(method, ranker, split_requests)
        self.min_fit = check_min_fit(min_fit)
        self._embedder = embedder
        self.index: ToolIndex | LargeIndex
        if self._lexical:
            self.index = ToolIndex.lexical(
                self.catalog, bound_descriptions(self.catalog) if bounded else None
            )
            return
        cache = bundled_vectors() if vector_cache is None else vector_cache
        self.index = ToolIndex.build(
            self.catalog,
            self.embedder,
            vector_cache=cache,
            progress=progress,
            searched=bound_descriptions(self.catalog, self.embedder, cache) if bounded else None,
        )

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
        self._lexical = method in LEXICAL_METHODS
        self._ranker = (lambda: ranker) if ranker else default_tool_ranker

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
        pinned = list({tool.id: tool for tool in map(self.catalog.tool, always)}.values())
        parts = split_subqueries(text) if self._split_requests else ()
        vectors = np.empty((1, 0), np.float32) if self._lexical else self.embedder.embed([text, *parts])
        vector = vectors[0]
        needs_context = self._needs_context(vector)
        query = ToolQuery(
            text,
            vector,
            self._context(context),
            past_calls,
            app_probabilities or {},
            1.0 if needs_context is None else needs_context,
        )
        if parts:
            query = query.with_parts(parts, vectors[1:])
        index, query, visible = self._scope(query, filter, k)
        ranking = self._method(ToolSearch(index, query, visible, k, self._ranker))
        named = [n for n in index.find_named(query.spans) if visible[n]] if self._name_aware else []
        index.catalog.at([*named, *(position for position, _ in ranking.scored[:k])])  # one read for all
        leading = find_telling_names(index, text, named)
        others = (position for position, _ in ranking.scored if position not in leading)
        order = [*leading, *others][:k]
        scores = dict(ranking.scored)
        hits = [ToolHit(tool, 1.0, ("always offered",)) for tool in pinned]
        pinned_ids = {tool.id for tool in pinned}
        for position, tool in zip(order, index.catalog.at(order), strict=True):
            if tool.id in pinned_ids:
                continue
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
            unknown_words(text, index, visible if filter else None) if self._learned else (),
        )

    def knows_word(self, word: str) -> bool:
        """Whether a tool has a word; not asked of a catalogue that is not in memory."""
        return isinstance(self.index, ToolIndex) and self.index.fields["all"].document_frequency(word) > 0

    def _scope(
        self, query: ToolQuery, tool_filter: ToolFilter | None, k: int
    ) -> tuple[ToolIndex, ToolQuery, NDArray[np.bool_]]:
        """The index to search in memory: all tools, or the candidates from a larger index."""
        if isinstance(self.index, ToolIndex):
            return self.index, query, self.index.visible(tool_filter)
        depth = max(DEPTH if self._learned else 2 * FUSED, k)
        index, query = self.index.subset(query, tool_filter, depth)
        return index, query, np.ones(len(index.catalog), bool)

    def _needs_context(self, vector: Matrix) -> float | None:
        """None unless the ranker was trained with this embedder: probabilities hold for no other."""
        if not self._learned or self._ranker().about.get("embedder") != self.embedder.name:
            return None
        return self._ranker().abstention.needs_context(vector)

    def _context(self, context: QueryContext | Sequence[ItemHit]) -> QueryContext | None:
        if isinstance(context, QueryContext):
            return context
        if not context or self._lexical:
            return None
        hits = context[: QueryContext.MAX_ITEMS]
        vectors = self.embedder.embed([hit.item.text for hit in hits])
        return QueryContext.from_hits(hits, vectors)


def check_min_fit(min_fit: float | None) -> float | None:
    """The threshold; raises unless it is a probability."""
    if min_fit is not None and not 0 <= min_fit <= 1:
        raise InvalidRequestError(f"min_fit must be from 0 to 1, not {min_fit!r}")
    return min_fit


def _unique(*reasons: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons))
