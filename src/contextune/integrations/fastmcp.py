"""FastMCP: a search transform; clients see `search_tools` and `call_tool` only."""

from collections.abc import Sequence

from contextune.embed import Embedder
from contextune.errors import MissingExtraError
from contextune.integrations._finder import Naming, ToolFinder, plain_name
from contextune.integrations._tool_schemas import annotations_from_hints
from contextune.tools import ToolRetriever
from contextune.types import Tool

try:
    from anyio import to_thread
    from fastmcp.server.transforms.search import BM25SearchTransform, SearchResultSerializer
    from fastmcp.tools import Tool as ServerTool
except ModuleNotFoundError as error:
    raise MissingExtraError("the FastMCP integration", "fastmcp") from error


def as_tool(tool: ServerTool) -> Tool:
    """Convert a tool of a FastMCP server."""
    hints = tool.annotations.model_dump(by_alias=True) if tool.annotations else None
    return Tool(
        tool.name,
        tool.description or "",
        parameters=tool.parameters,
        title=tool.title or "",
        annotations=annotations_from_hints(hints),
    )


# the base class provides the two tools and respects visibility; only the search is replaced
class ContextuneSearchTransform(BM25SearchTransform):
    """For `server.add_transform(…)`: searches the tools that are visible to the client."""

    def __init__(
        self,
        retriever: ToolRetriever | None = None,
        *,
        max_results: int = 5,
        always_visible: list[str] | None = None,
        search_tool_name: str = "search_tools",
        call_tool_name: str = "call_tool",
        search_result_serializer: SearchResultSerializer | None = None,
        naming: Naming = plain_name,
        embedder: Embedder | None = None,
    ) -> None:
        """Without a retriever the server's tools are indexed; `naming` maps a retriever's tools to names."""
        super().__init__(
            max_results=max_results,
            always_visible=always_visible,
            search_tool_name=search_tool_name,
            call_tool_name=call_tool_name,
            search_result_serializer=search_result_serializer,
        )
        self._finder = ToolFinder(retriever, naming=naming, embedder=embedder)

    async def _search(self, tools: Sequence[ServerTool], query: str) -> Sequence[ServerTool]:
        candidates = [as_tool(tool) for tool in tools]
        names = await to_thread.run_sync(self._finder.names, candidates, [query], self._max_results)
        by_name = {tool.name: tool for tool in tools}
        return [by_name[name] for name in names]
