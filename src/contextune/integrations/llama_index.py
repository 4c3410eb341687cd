"""LlamaIndex: retrievers over tools and context items, and `tool_retriever=` for agents."""

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
    raise MissingExtraError("the LlamaIndex integration", "llama-index") from error


def as_tool(tool: BaseTool) -> Tool:
    """Convert a LlamaIndex tool."""
    metadata = tool.metadata
    return Tool(
        metadata.get_name(), metadata.description, parameters=cast("Any", metadata).get_parameters_dict()
    )


class _Nodes(BaseRetriever):
    """Base class: no results for a blank query, and async retrieval in a thread."""

    def __init__(self) -> None:
        cast("Any", super()).__init__()

    def _search(self, text: str) -> list[NodeWithScore]:
        raise NotImplementedError

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._search(query_bundle.query_str) if query_bundle.query_str.strip() else []

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class ToolNodes(_Nodes):
    """Retriever of tools as nodes, best first; node ids are tool ids."""

    def __init__(
        self,
        tools: ToolRetriever,
        k: int = 10,
        *,
        filter: ToolFilter | None = None,  # noqa: A002
        naming: Naming = plain_name,
    ) -> None:
        """`naming` gives the `name` in a node's metadata."""
        super().__init__()
        self._tools, self._k, self._filter, self._naming = tools, k, filter, naming

    def _search(self, text: str) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.tool.id,
                    text=tool_text(hit.tool),
                    metadata={"name": self._naming(hit.tool), "app": hit.tool.app},
                ),
                score=hit.score,
            )
            for hit in self._tools.search(text, self._k, filter=self._filter)
        ]


class ContextNodes(_Nodes):
    """Retriever of the user's items that a request refers to, as nodes, best first."""

    def __init__(
        self,
        tuner: Tuner,
        user: str,
        k: int = 10,
        *,
        now: Callable[[], datetime] | None = None,
        place: str | Coordinates | None = None,
    ) -> None:
        """`now` and `place` give time and place of requests; the default time is the system clock."""
        super().__init__()
        self._tuner, self._user, self._k, self._now, self._place = tuner, user, k, now, place

    def _search(self, text: str) -> list[NodeWithScore]:
        options: dict[str, Any] = {"time": self._now()} if self._now else {}
        hits = self._tuner.context(Request(text, self._user, place=self._place, **options), self._k)
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
    """For `tool_retriever=` of an agent: retrieves those of `tools` that fit the user's message.

    Without a retriever the tools are indexed now; `naming` maps a retriever's tools to their names here.
    """
    name_filter = None
    if retriever:
        name_filter = NameFilter(naming=naming, names=frozenset(tool.metadata.get_name() for tool in tools))
    nodes = ToolNodes(
        retriever or ToolRetriever(map(as_tool, tools), embedder), k, filter=name_filter, naming=naming
    )
    return ObjectRetriever(nodes, SimpleToolNodeMapping(tools))
