"""Search over a framework's own tools, which may change between requests."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.integrations._stable_order import StableOrder
from contextune.integrations.shortlist import NothingFits, Shortlist
from contextune.search import interleave
from contextune.tools import ToolFilter, ToolMatches, ToolRetriever
from contextune.tools.index import MemoryVectorCache
from contextune.tools.retriever import check_min_fit
from contextune.types import Tool

Naming = Callable[[Tool], str]
"""Maps a tool of the catalogue to its name in the framework."""
_MAX_INDEXES = 8
"""Number of indexed tool lists to keep; users with different permissions have different lists."""
_MAX_VECTORS = 20_000
_WINDOW_TURNS = 10


class UserTurn(NamedTuple):
    """A message of the user."""

    text: str


class ToolCallTurn(NamedTuple):
    """A tool call of the model."""

    name: str


class AssistantTurn(NamedTuple):
    """A message of the model."""

    text: str


Conversation = Sequence[UserTurn | ToolCallTurn | AssistantTurn]
TurnSearch = Callable[[Conversation], Sequence[str]]
"""Names of tools for the last turn of a conversation, which is one of the user."""


def plain_name(tool: Tool) -> str:
    """The tool's name without its server."""
    return tool.name


def search_each(
    retriever: ToolRetriever,
    texts: Sequence[str],
    k: int,
    *,
    filter: ToolFilter | None = None,  # noqa: A002
    exclude: Collection[str] = (),
    min_fit: float | None = None,
) -> Shortlist:
    """The best `k` tools for several texts: one search per text, with the results interleaved.

    Tools of `exclude`, by name or id, are left out; so are those of texts that no tool fits, if the retriever
    or `min_fit` has a threshold.
    """
    excluded = {retriever.catalog.tool(name).id for name in exclude}
    lists: list[list[Tool]] = []
    unknown: list[str] = []
    for text in _without_blank(texts):
        matches = retriever.find(text, k + len(excluded), filter=filter)
        if nothing_fits := why_refused(matches, min_fit, retriever):
            unknown += nothing_fits.unknown_words
        else:
            lists.append([hit.tool for hit in matches.hits if hit.tool.id not in excluded])
    none = None if lists or not _without_blank(texts) else NothingFits(tuple(dict.fromkeys(unknown)))
    return Shortlist(tuple(interleave(lists)[:k]), nothing_fits=none)


def _without_blank(texts: Sequence[str]) -> list[str]:
    """The texts that can be searched with."""
    return [text for text in texts if text.strip()]


def why_refused(
    matches: ToolMatches, min_fit: float | None, retriever: ToolRetriever | None = None
) -> NothingFits | None:
    """Why none of the matches is offered; None if they are, as without a threshold."""
    if min_fit is None and (retriever is None or retriever.min_fit is None):
        return None
    if min_fit is not None:
        matches = replace(matches, min_fit=min_fit)
    return NothingFits(matches.unknown_words) if matches.none_fits else None


class ToolFinder:
    """Finds names of a framework's tools. Thread-safe."""

    def __init__(
        self,
        retriever: ToolRetriever | None = None,
        *,
        naming: Naming = plain_name,
        embedder: Embedder | None = None,
        min_fit: float | None = None,
        wait: bool = True,
    ) -> None:
        """Without a `retriever`, each new list of tools is indexed when it is first searched.

        With `min_fit`, nothing is found where `fits` is lower. Without `wait`, many new tools are searched by
        words until they are embedded; not for lists of tools that must stay the same from turn to turn.
        """
        self._retriever = retriever
        self._naming = naming
        self._embedder = embedder
        self._min_fit = check_min_fit(min_fit)
        self._wait = wait
        self._indexes: OrderedDict[tuple[Tool, ...], ToolRetriever] = OrderedDict()
        self._vectors = MemoryVectorCache(_MAX_VECTORS)
        self._lock = Lock()

    def names(self, tools: Sequence[Tool], texts: Sequence[str], k: int) -> list[str]:
        """The names of the best `k` of these tools."""
        return self.find(tools, texts, k)[0]

    def find(
        self, tools: Sequence[Tool], texts: Sequence[str], k: int
    ) -> tuple[list[str], NothingFits | None]:
        """The names of the best `k` of these tools, and why there is none."""
        if not tools:
            return [], None
        if self._retriever is None:
            found = search_each(self.index(tools), texts, k, min_fit=self._min_fit)
            return [tool.name for tool in found.tools], found.nothing_fits
        name_filter = NameFilter(naming=self._naming, names=frozenset(tool.name for tool in tools))
        if not any(map(name_filter, self._retriever.catalog)):
            raise InvalidDataError(
                f"the retriever has none of the framework's tools, such as {tools[0].name!r}: "
                "add them, or pass `naming` to map the retriever's tools to their names in the framework"
            )
        found = search_each(self._retriever, texts, k, filter=name_filter, min_fit=self._min_fit)
        return list(dict.fromkeys(map(self._naming, found.tools))), found.nothing_fits

    def for_conversation(
        self,
        tools: Sequence[Tool],
        conversation: Conversation,
        order: StableOrder,
        k: int,
        search: TurnSearch | None = None,
        naming: Naming = plain_name,
    ) -> tuple[str, ...]:
        """The names to offer after the last turn of a conversation.

        The turns are replayed each time, so no state is kept between requests, and a continued conversation
        gets the same tools in the same order. `search` replaces the search by the text of a turn; `naming`
        gives the names that the conversation and `search` use.
        """
        names = set(map(naming, tools))
        start = _window_start(conversation) if order.mode == "recent" else 0
        for end, turn in enumerate(conversation[start:], start + 1):
            if isinstance(turn, UserTurn):
                if order.is_complete:
                    continue
                order.update(search(conversation[:end]) if search else self.names(tools, [turn.text], k))
            elif isinstance(turn, ToolCallTurn) and turn.name in names and order.mode == "recent":
                order.update([turn.name])
        return order.offered

    def index(self, tools: Sequence[Tool]) -> ToolRetriever:
        """A retriever over these tools, built when the list is new."""
        key = tuple(tools)
        with self._lock:
            if key not in self._indexes:
                self._indexes[key] = ToolRetriever(
                    key, self._embedder, vector_cache=self._vectors, wait=self._wait
                )
                if len(self._indexes) > _MAX_INDEXES:
                    self._indexes.popitem(last=False)
            self._indexes.move_to_end(key)
            return self._indexes[key]


def _window_start(conversation: Conversation) -> int:
    """Start of the last 10 to 19 user turns; it moves every 10 turns only, so prompt caches stay valid."""
    starts = [index for index, turn in enumerate(conversation) if isinstance(turn, UserTurn)]
    first = len(starts) // _WINDOW_TURNS * _WINDOW_TURNS - _WINDOW_TURNS
    return starts[first] if first > 0 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFilter(ToolFilter):
    """Accepts tools whose name in the framework is one of `names`."""

    naming: Naming
    names: frozenset[str]

    def __call__(self, tool: Tool) -> bool:
        return self.naming(tool) in self.names
