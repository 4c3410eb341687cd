"""The tools for a turn of a talk, in one call and in an order that prompt caches can live with."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from contextune.integrations._stable_order import StableOrder
from contextune.tools import Catalog, ToolFilter, ToolRetriever
from contextune.types import ItemHit, Tool, ToolHit


class ToolsForTurn:
    """Says turn by turn which tools to offer in one talk; make one a talk.

    Tools offered before keep their places and new ones come after them. Once there would be more than
    `keep`, those go that were longest of no use.
    """

    def __init__(
        self,
        retriever: ToolRetriever,
        k: int = 8,
        *,
        always: Sequence[str] = (),
        keep: int = 32,
        offered: Iterable[str] = (),
    ) -> None:
        """`always` are offered in every turn, in front; `offered` are the ids of a talk taken up again."""
        self.retriever = retriever
        """May be replaced when the catalogue has changed; tools that are gone are offered no more."""
        self._k = k
        catalog = retriever.catalog
        self._places = StableOrder(
            k, keep, [catalog.tool(name).id for name in always], _known(catalog, offered)
        )

    @property
    def offered(self) -> tuple[str, ...]:
        """The ids of the tools offered so far, in order: keep them with the talk to take it up elsewhere."""
        return self._places.offered

    def tools(
        self, text: str, *, context: Sequence[ItemHit] = (), only: ToolFilter | None = None
    ) -> list[Tool]:
        """The tools to offer for what is said, in their places; `only` hides others for this turn."""
        catalog = self.retriever.catalog
        hits = self.retriever.search(text, self._k, context=context, always=self._places.always, only=only)
        self._places.drop(set(self._places.offered) - {tool.id for tool in catalog})
        names = self._places.turn([tool.id for tool in _settled(hits, catalog)])
        tools = [catalog.tool(name) for name in names]
        return [tool for tool in tools if only is None or tool.id in self._places.always or only(tool)]

    def used(self, *tools: str) -> None:
        """Tell by id which tools were called: they are the last to go."""
        self._places.use(self.retriever.catalog.tool(name).id for name in tools)


def _known(catalog: Catalog, names: Iterable[str]) -> Iterator[str]:
    ids = {tool.id for tool in catalog}
    return (name for name in names if name in ids)


def _settled(hits: Sequence[ToolHit], catalog: Catalog) -> list[Tool]:
    """The tools found; where neighbours score the same, in the order of the catalogue."""
    place = {tool.id: at for at, tool in enumerate(catalog)}
    return [
        hit.tool
        for _, equals in groupby(hits, key=lambda hit: hit.score)
        for hit in sorted(equals, key=lambda hit: place[hit.tool.id])
    ]
