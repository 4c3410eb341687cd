"""Finding among a framework's own tools, which may be others at every request."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.integrations._stable_order import StableOrder
from contextune.search import interleave
from contextune.tools import ToolFilter, ToolRetriever
from contextune.tools.index import MemoryVectorCache
from contextune.types import Tool

Naming = Callable[[Tool], str]
"""What a framework calls a tool of the catalogue."""
_LISTS = 8
"""So many lists of tools stay indexed: users with different rights see different ones."""
_VECTORS = 20_000
_TURNS = 10


class UserTurn(NamedTuple):
    """What the user said in a talk."""

    text: str


class ToolCallTurn(NamedTuple):
    """A tool that the model called in a talk."""

    name: str


def plain_name(tool: Tool) -> str:
    """Its name without that of its server."""
    return tool.name


def search_each(
    retriever: ToolRetriever,
    texts: Sequence[str],
    k: int,
    *,
    only: ToolFilter | None = None,
    beside: Collection[str] = (),
) -> list[Tool]:
    """The best `k` tools for several texts: each is searched by itself, and the lists take turns.

    Those of `beside`, by name or id, are at hand already and not found again.
    """
    known = {retriever.catalog.tool(name).id for name in beside}
    lists = [
        [hit.tool for hit in retriever.search(text, k + len(known), only=only) if hit.tool.id not in known]
        for text in texts
        if text.strip()
    ]
    return interleave(lists)[:k]


class ToolFinder:
    """Finds the names of tools a framework has at hand. Safe to share between threads."""

    def __init__(
        self,
        retriever: ToolRetriever | None = None,
        *,
        naming: Naming = plain_name,
        embedder: Embedder | None = None,
    ) -> None:
        """`retriever` knows the tools already; without one, whatever list comes is indexed when it is new."""
        self._retriever = retriever
        self._naming = naming
        self._embedder = embedder
        self._built: OrderedDict[tuple[Tool, ...], ToolRetriever] = OrderedDict()
        self._vectors = MemoryVectorCache(_VECTORS)
        self._lock = Lock()

    def names(self, offered: Sequence[Tool], texts: Sequence[str], k: int) -> list[str]:
        """The best `k` among the tools offered, by the names they are offered under."""
        if not offered:
            return []
        if self._retriever is None:
            return [tool.name for tool in search_each(self._index(tuple(offered)), texts, k)]
        among = NameFilter(naming=self._naming, names=frozenset(tool.name for tool in offered))
        if not any(map(among, self._retriever.catalog)):
            raise InvalidDataError(
                f"the retriever knows none of the tools offered, such as {offered[0].name!r}: "
                "give it these tools, or say by `naming` what its own are called here"
            )
        found = search_each(self._retriever, texts, k, only=among)
        return list(dict.fromkeys(map(self._naming, found)))

    def for_talk(
        self, offered: Sequence[Tool], talk: Sequence[UserTurn | ToolCallTurn], places: StableOrder, k: int
    ) -> tuple[str, ...]:
        """The names to offer at the end of a talk.

        It is gone through again each time, so nothing needs to be kept between two requests, and a talk
        that goes on gets the same tools in the same places.
        """
        names = {tool.name for tool in offered}
        for step in _recent(talk):
            if isinstance(step, UserTurn):
                places.turn(self.names(offered, [step.text], k))
            elif step.name in names:
                places.turn([step.name])
        return places.offered

    def _index(self, tools: tuple[Tool, ...]) -> ToolRetriever:
        with self._lock:
            if tools not in self._built:
                self._built[tools] = ToolRetriever(tools, self._embedder, shelf=self._vectors)
                if len(self._built) > _LISTS:
                    self._built.popitem(last=False)
            self._built.move_to_end(tools)
            return self._built[tools]


def _recent(talk: Sequence[UserTurn | ToolCallTurn]) -> Sequence[UserTurn | ToolCallTurn]:
    """The talk without the beginning of a long one; where it begins moves only every so many turns."""
    turns = [at for at, step in enumerate(talk) if isinstance(step, UserTurn)]
    start = len(turns) // _TURNS * _TURNS - _TURNS
    return talk[turns[start] :] if start > 0 else talk


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFilter(ToolFilter):
    """Only tools that the framework has, under these names."""

    naming: Naming
    names: frozenset[str]

    def __call__(self, tool: Tool) -> bool:
        """Whether the framework has this tool."""
        return self.naming(tool) in self.names
