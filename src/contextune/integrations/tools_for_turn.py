"""`ToolsForTurn`: the tools to offer at each turn of a conversation, in a prompt-cache-friendly order."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from contextune.integrations._finder import why_refused
from contextune.integrations._stable_order import OrderMode, StableOrder
from contextune.integrations.shortlist import Shortlist
from contextune.tools import Catalog, ToolFilter, ToolRetriever
from contextune.tools.retriever import check_min_fit
from contextune.types import ItemHit, Tool, ToolHit


class ToolsForTurn:
    """Selects the tools to offer at each turn of one conversation.

    Tools of earlier turns keep their position and new ones are appended. Above `keep` tools, the least
    recently used are dropped; with the mode "append" none is dropped and none added; with "frozen" the list
    of the first turn stays.
    """

    def __init__(
        self,
        retriever: ToolRetriever,
        k: int = 8,
        *,
        always: Sequence[str] = (),
        keep: int = 32,
        offered: Iterable[str] = (),
        mode: OrderMode = "recent",
        min_fit: float | None = None,
    ) -> None:
        """`always` are offered in every turn, first; `offered` restores an earlier conversation.

        With `min_fit`, as with the retriever's, a turn whose `fits` is lower adds no tool.
        """
        self.retriever = retriever
        """Can be replaced when the catalogue changes; tools that no longer exist are dropped."""
        self._k = k
        self._min_fit = check_min_fit(min_fit)
        catalog = retriever.catalog
        self._order = StableOrder(
            k, keep, [catalog.tool(name).id for name in always], _existing(catalog, offered), mode
        )

    @property
    def offered(self) -> tuple[str, ...]:
        """Ids of the current tools, in order; store them to restore the conversation later."""
        return self._order.offered

    def tools(
        self,
        text: str,
        *,
        context: Sequence[ItemHit] = (),
        filter: ToolFilter | None = None,  # noqa: A002
    ) -> list[Tool]:
        """The tools to offer for a message, in stable order; `filter` hides others for this turn."""
        return list(self.shortlist(text, context=context, filter=filter).tools)

    def shortlist(
        self,
        text: str,
        *,
        context: Sequence[ItemHit] = (),
        filter: ToolFilter | None = None,  # noqa: A002
    ) -> Shortlist:
        """Like `tools`, and why no tool fits the message if none does."""
        catalog = self.retriever.catalog
        matches = self.retriever.find(
            text, self._k, context=context, always=self._order.always, filter=filter
        )
        nothing_fits = why_refused(matches, self._min_fit, self.retriever)
        hits = () if nothing_fits else matches.hits
        self._order.drop(set(self._order.offered) - {tool.id for tool in catalog})
        names = self._order.update([tool.id for tool in _break_ties(hits, catalog)])
        tools = (catalog.tool(name) for name in names)
        shown = (tool for tool in tools if filter is None or tool.id in self._order.always or filter(tool))
        return Shortlist(tuple(shown), nothing_fits=nothing_fits)

    def mark_used(self, *tools: str) -> None:
        """Mark tools as used, by id or name; they are dropped last."""
        self._order.mark_used(self.retriever.catalog.tool(name).id for name in tools)


def _existing(catalog: Catalog, names: Iterable[str]) -> Iterator[str]:
    ids = {tool.id for tool in catalog}
    return (name for name in names if name in ids)


def _break_ties(hits: Sequence[ToolHit], catalog: Catalog) -> list[Tool]:
    """The tools of the hits; equal scores in the order of the catalogue."""
    position = {tool.id: index for index, tool in enumerate(catalog)}
    return [
        hit.tool
        for _, equals in groupby(hits, key=lambda hit: hit.score)
        for hit in sorted(equals, key=lambda hit: position[hit.tool.id])
    ]
