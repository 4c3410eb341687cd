"""LangChain retrievers over tools and context items."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from contextune.context import needed_items
from contextune.errors import MissingExtraError
from contextune.tools import ToolRetriever
from contextune.tools.tool_text import tool_text
from contextune.tuner import Tuner
from contextune.types import Coordinates, ItemHit, Request, Tool, ToolHit, Turn

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ModuleNotFoundError as error:
    raise MissingExtraError("the LangChain integration", "langchain") from error


def as_tool(tool: BaseTool) -> Tool:
    """Convert a LangChain tool."""
    function = convert_to_openai_tool(tool)["function"]
    return Tool(tool.name, tool.description, parameters=function.get("parameters") or {})


class ToolDocuments(BaseRetriever):
    """Retriever of tools as documents, best first; document ids are tool ids."""

    tools: ToolRetriever
    k: int = 10

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:  # noqa: ARG002
        if not query.strip():
            return []
        return [_tool_document(hit) for hit in self.tools.search(query, self.k)]


class ContextDocuments(BaseRetriever):
    """Retriever of the user's items that a request refers to, as documents, best first.

    `user`, `time`, `place` and `history` can be passed with each request, as in
    `documents.invoke("Did she write?", user="ines", place="home")`; `time` defaults to now.
    """

    tuner: Tuner
    user: str = ""
    k: int = 10

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: object,  # noqa: ARG002
        user: str = "",
        time: datetime | None = None,
        place: str | Coordinates | None = None,
        history: Sequence[Turn] = (),
    ) -> list[Document]:
        if not query.strip():
            return []
        options: dict[str, Any] = {"time": time} if time else {}
        request = Request(query, user or self.user, place=place, history=tuple(history), **options)
        return [_item_document(hit) for hit in needed_items(self.tuner.context(request, self.k))]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: object, **options: Any
    ) -> list[Document]:
        # LangChain's default would drop the options
        return await asyncio.to_thread(
            self._get_relevant_documents, query, run_manager=run_manager, **options
        )


def _tool_document(hit: ToolHit) -> Document:
    tool = hit.tool
    return Document(
        tool_text(tool), id=tool.id, metadata={"name": tool.name, "app": tool.app, "score": hit.score}
    )


def _item_document(hit: ItemHit) -> Document:
    item = hit.item
    metadata = {"app": item.app, "title": item.title, "score": hit.score}
    if item.time:
        metadata["time"] = item.time.isoformat()
    return Document(item.text, id=item.id, metadata=metadata)
