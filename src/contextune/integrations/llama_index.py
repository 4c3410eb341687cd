"""LlamaIndex: tools and context items as nodes, and a `tool_retriever=` for its agents."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, cast

from contextune.embed import Embedder
from contextune.errors import MissingExtraError
from contextune.integrations._finder import NameFilter, Naming, plain_name
from contextune.tools import ToolFilter, ToolRetriever
from contextune.tools.tool_text import tool_text
from contextune.tuner import Tuner
from contextune.types import Coordinates, Request, Tool

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.objects import ObjectRetriever, SimpleToolNodeMapping
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.tools import BaseTool
except ModuleNotFoundError as error:
    raise MissingExtraError("the LlamaIndex hook", "llama-index") from error


def as_tool(tool: BaseTool) -> Tool:
    """One of LlamaIndex's tools, for a catalogue."""
    said = tool.metadata
    return Tool(said.get_name(), said.description, parameters=cast("Any", said).get_parameters_dict())


class _Nodes(BaseRetriever):
    """What both kinds of nodes have in common: no words, no nodes; and the event loop is not kept waiting."""

    def __init__(self) -> None:
        cast("Any", super()).__init__()

    def _found(self, text: str) -> list[NodeWithScore]:
        raise NotImplementedError

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._found(query_bundle.query_str) if query_bundle.query_str.strip() else []

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class ToolNodes(_Nodes):
    """Nodes of the tools that can serve a request, best first; the id of one is that of its tool."""

    def __init__(
        self,
        tools: ToolRetriever,
        k: int = 10,
        *,
        only: ToolFilter | None = None,
        naming: Naming = plain_name,
    ) -> None:
        """`naming` says what stands as `name` in a node's metadata."""
        super().__init__()
        self._tools, self._k, self._only, self._naming = tools, k, only, naming

    def _found(self, text: str) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.tool.id,
                    text=tool_text(hit.tool),
                    metadata={"name": self._naming(hit.tool), "app": hit.tool.app},
                ),
                score=hit.score,
            )
            for hit in self._tools.search(text, self._k, only=self._only)
        ]


class ContextNodes(_Nodes):
    """Nodes of a user's own items that a request hangs on, best first."""

    def __init__(
        self,
        tuner: Tuner,
        user: str,
        k: int = 10,
        *,
        now: Callable[[], datetime] | None = None,
        place: str | Coordinates | None = None,
    ) -> None:
        """`now` and `place` say when and where requests are made; the machine's clock counts otherwise."""
        super().__init__()
        self._tuner, self._user, self._k, self._now, self._place = tuner, user, k, now, place

    def _found(self, text: str) -> list[NodeWithScore]:
        moment: dict[str, Any] = {"time": self._now()} if self._now else {}
        hits = self._tuner.context(Request(text, self._user, place=self._place, **moment), self._k)
        nodes: list[NodeWithScore] = []
        for hit in hits:
            item = hit.item
            metadata = {"app": item.app, "title": item.title}
            if item.time:
                metadata["time"] = item.time.isoformat()
            node = TextNode(id_=item.id, text=item.text, metadata=metadata)
            nodes.append(NodeWithScore(node=node, score=hit.score))
        return nodes


def tool_retriever(
    tools: Sequence[BaseTool],
    k: int = 8,
    *,
    retriever: ToolRetriever | None = None,
    naming: Naming = plain_name,
    embedder: Embedder | None = None,
) -> ObjectRetriever[BaseTool]:
    """For `tool_retriever=` of an agent: the tools among these that can serve what the user says.

    Without a retriever they are indexed now; `naming` says what those of a retriever are called here.
    """
    among = None
    if retriever:
        among = NameFilter(naming=naming, names=frozenset(tool.metadata.get_name() for tool in tools))
    nodes = ToolNodes(retriever or ToolRetriever(map(as_tool, tools), embedder), k, only=among, naming=naming)
    return ObjectRetriever(nodes, SimpleToolNodeMapping(tools))
