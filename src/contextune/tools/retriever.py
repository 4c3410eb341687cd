"""A request → the few tools that can serve it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contextune.embed import CachedEmbedder, Embedder, Matrix, default_embedder
from contextune.errors import InvalidRequestError
from contextune.tools.catalog import Catalog
from contextune.tools.filter import ToolFilter
from contextune.tools.index import ToolIndex, VectorCache
from contextune.tools.methods import DEFAULT, METHODS, ToolSearch, learned
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.tools.ranker import ToolRanker, default_tool_ranker
from contextune.types import ItemHit, Progress, Reasons, Tool, ToolHit

_KEEPING_NAMES = ("hybrid", "learned")
"""Methods that miss no tool that is named; the others are what they say, to be compared with."""
_PLAIN_NAMES = 2
"""Tools called by one plain word, such as "search", that are kept in sight when the word is said."""


@dataclass(frozen=True, slots=True)
class ToolMatches:
    """The tools for a request, best first.

    `fits` is how probable it is that any tool of the catalogue serves it, `needs_context` that its
    words alone do not say what is meant. Both are None where that is not known: with an embedder
    that the ranker was not made for, and by the plain methods.
    """

    hits: tuple[ToolHit, ...]
    fits: float | None = None
    needs_context: float | None = None


class ToolRetriever:
    """Searches a catalogue. Safe to share between threads."""

    def __init__(
        self,
        tools: Iterable[Tool],
        embedder: Embedder | None = None,
        *,
        method: str = DEFAULT,
        ranker: ToolRanker | None = None,
        shelf: VectorCache | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`ranker` stands in for the learned one in the package; `shelf` keeps vectors between runs.

        `progress` hears of tools embedded.
        """
        if method not in METHODS:
            raise InvalidRequestError(f"there is no method {method!r}: choose among {', '.join(METHODS)}")
        self.catalog = tools if isinstance(tools, Catalog) else Catalog(tools)
        self._method = METHODS[method]
        self._named = method in _KEEPING_NAMES
        self._learned = METHODS[method] is learned
        self.embedder = CachedEmbedder(embedder or default_embedder())
        self._ranker = (lambda: ranker) if ranker else default_tool_ranker
        self.index = ToolIndex.build(self.catalog, self.embedder, shelf=shelf, progress=progress)

    def search(
        self,
        text: str,
        k: int = 10,
        *,
        context: QueryContext | Sequence[ItemHit] = (),
        always: Sequence[str] = (),
        only: ToolFilter | None = None,
    ) -> list[ToolHit]:
        """The best `k` tools for what is said; `context` are items it hangs on, `always` is offered first."""
        return list(self.find(text, k, context=context, always=always, only=only).hits)

    def find(
        self,
        text: str,
        k: int = 10,
        *,
        context: QueryContext | Sequence[ItemHit] = (),
        past: PastCalls | None = None,
        apps: Mapping[str, float] | None = None,
        always: Sequence[str] = (),
        only: ToolFilter | None = None,
    ) -> ToolMatches:
        """As `search`, and whether any of them fits at all.

        `past` are earlier requests and what served them; `apps` how probable each application is, by the
        words alone. `Tuner.tools` fills in both.
        """
        if not text.strip():
            raise InvalidRequestError("there is no text to find tools for: pass what the user said")
        if k < 1:
            raise InvalidRequestError(f"k={k!r}: ask for at least one tool")
        offered = list({tool.id: tool for tool in map(self.catalog.tool, always)}.values())
        visible = np.ones(len(self.catalog), bool)
        if only:
            visible = np.fromiter(map(only, self.catalog), bool, len(self.catalog))
        vector = self.embedder.embed([text])[0]
        needed = self._needs_context(vector)
        wish = ToolQuery(
            text, vector, self._context(context), past, apps or {}, 1.0 if needed is None else needed
        )
        ranking = self._method(ToolSearch(self.index, wish, visible, k, self._ranker))
        named = [place for place in self.index.named(wish.spans) if visible[place]] if self._named else []
        order = _with_named(self.index, [place for place, _ in ranking.found], named, k)
        scores = dict(ranking.found)
        hits = [ToolHit(tool, 1.0, ("always offered",)) for tool in offered]
        taken = {tool.id for tool in offered}
        for place in order[:k]:
            tool = self.catalog[place]
            if tool.id in taken:
                continue
            said = ("the request names it",) if place in named else ()
            why = Reasons(lambda place=place, said=said: _once(*said, *ranking.reasons(place)))
            hits.append(ToolHit(tool, scores.get(place, 0.0), why))
        return ToolMatches(tuple(hits), None if needed is None else ranking.fits, needed)

    def _needs_context(self, vector: Matrix) -> float | None:
        """Probabilities hold for the embedder they were learnt with, and for no other."""
        if not self._learned or self._ranker().about.get("embedder") != self.embedder.name:
            return None
        return self._ranker().abstain.needs_context(vector)

    def _context(self, context: QueryContext | Sequence[ItemHit]) -> QueryContext | None:
        if isinstance(context, QueryContext):
            return context
        if not context:
            return None
        best = context[: QueryContext.MOST]
        vectors = self.embedder.embed([hit.item.text for hit in best])
        return QueryContext.of([hit.item for hit in best], [hit.score for hit in best], vectors)


def _once(*words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _with_named(index: ToolIndex, order: list[int], named: list[int], k: int) -> list[int]:
    """No tool that is named is missed: names only a tool can have lead, plain words are kept in sight."""
    telling = [place for place in named if len(index.name(place)) > 1]
    rest = [place for place in order if place not in telling]
    head = [*telling, *rest][:k]
    plain = [place for place in named if place not in telling]
    room = max(0, min(_PLAIN_NAMES, k - 1 - len(telling)))  # the best hit keeps its place
    missing = [place for place in plain if place not in head][:room]
    if missing and not any(place in head for place in plain):
        head = [*head[: k - len(missing)], *missing]
    return [*head, *(place for place in rest if place not in head)]
