"""ToolRetriever: a request → the few tools of a catalogue that can serve it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contextune.embed import CachedEmbedder, Embedder, Matrix, default_embedder
from contextune.errors import InvalidRequestError
from contextune.tools.catalog import Catalog
from contextune.tools.filter import ToolFilter
from contextune.tools.index import ToolIndex, VectorCache
from contextune.tools.methods import DEFAULT_METHOD, METHODS, ToolSearch, learned
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.tools.ranker import ToolRanker, default_tool_ranker
from contextune.types import ItemHit, Progress, Reasons, Tool, ToolHit

_NAME_AWARE_METHODS = ("hybrid", "learned")
"""Methods that always return a tool named in the request; bm25 and semantic stay plain baselines."""
_MAX_ONE_WORD_NAMES = 2
"""How many tools with a one-word name, such as "search", are added when the word occurs in the request."""


@dataclass(frozen=True, slots=True)
class ToolMatches:
    """The tools for a request, best first.

    `fits` is the probability that any tool of the catalogue serves the request, `needs_context` the
    probability that its text alone does not say what is meant. Both are None with the plain methods,
    and with an embedder that the ranker was not trained with.
    """

    hits: tuple[ToolHit, ...]
    fits: float | None = None
    needs_context: float | None = None


class ToolRetriever:
    """Searches a catalogue of tools. Safe to share between threads."""

    def __init__(
        self,
        tools: Iterable[Tool],
        embedder: Embedder | None = None,
        *,
        method: str = DEFAULT_METHOD,
        ranker: ToolRanker | None = None,
        vector_cache: VectorCache | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Embed and index the tools.

        `ranker` replaces the bundled one; `vector_cache` keeps vectors between runs; `progress` is called
        with the number of tools embedded so far.
        """
        if method not in METHODS:
            raise InvalidRequestError(f"unknown method {method!r}: use one of {', '.join(METHODS)}")
        self.catalog = tools if isinstance(tools, Catalog) else Catalog(tools)
        self._method = METHODS[method]
        self._name_aware = method in _NAME_AWARE_METHODS
        self._learned = METHODS[method] is learned
        self.embedder = CachedEmbedder(embedder or default_embedder())
        self._ranker = (lambda: ranker) if ranker else default_tool_ranker
        self.index = ToolIndex.build(
            self.catalog, self.embedder, vector_cache=vector_cache, progress=progress
        )

    def search(
        self,
        text: str,
        k: int = 10,
        *,
        context: QueryContext | Sequence[ItemHit] = (),
        always: Sequence[str] = (),
        filter: ToolFilter | None = None,  # noqa: A002
    ) -> list[ToolHit]:
        """The best `k` tools for a request.

        `context` are items the request refers to. The tools in `always` come first, whatever the request.
        """
        return list(self.find(text, k, context=context, always=always, filter=filter).hits)

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
        visible = np.ones(len(self.catalog), bool)
        if filter:
            visible = np.fromiter(map(filter, self.catalog), bool, len(self.catalog))
        vector = self.embedder.embed([text])[0]
        needs_context = self._needs_context(vector)
        query = ToolQuery(
            text,
            vector,
            self._context(context),
            past_calls,
            app_probabilities or {},
            1.0 if needs_context is None else needs_context,
        )
        ranking = self._method(ToolSearch(self.index, query, visible, k, self._ranker))
        named = [n for n in self.index.find_named(query.spans) if visible[n]] if self._name_aware else []
        order = _insert_named(self.index, [position for position, _ in ranking.scored], named, k)
        scores = dict(ranking.scored)
        hits = [ToolHit(tool, 1.0, ("always offered",)) for tool in pinned]
        pinned_ids = {tool.id for tool in pinned}
        for position in order[:k]:
            tool = self.catalog[position]
            if tool.id in pinned_ids:
                continue
            by_name = ("the request names it",) if position in named else ()
            reasons = Reasons(
                lambda position=position, by_name=by_name: _unique(*by_name, *ranking.reasons(position))
            )
            hits.append(ToolHit(tool, scores.get(position, 0.0), reasons))
        return ToolMatches(tuple(hits), None if needs_context is None else ranking.fits, needs_context)

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
        return QueryContext.build([hit.item for hit in hits], [hit.score for hit in hits], vectors)


def _unique(*reasons: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons))


def _insert_named(index: ToolIndex, order: list[int], named: list[int], k: int) -> list[int]:
    """Put tools named by several words first; make sure the top k has some of those named by one."""
    by_several_words = [position for position in named if len(index.name(position)) > 1]
    rest = [position for position in order if position not in by_several_words]
    head = [*by_several_words, *rest][:k]
    by_one_word = [position for position in named if position not in by_several_words]
    # the best hit keeps its rank
    free_ranks = max(0, min(_MAX_ONE_WORD_NAMES, k - 1 - len(by_several_words)))
    missing = [position for position in by_one_word if position not in head][:free_ranks]
    if missing and not any(position in head for position in by_one_word):
        head = [*head[: k - len(missing)], *missing]
    return [*head, *(position for position in rest if position not in head)]
