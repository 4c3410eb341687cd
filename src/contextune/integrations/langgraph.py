"""LangGraph: tool retrieval for `langgraph-bigtool` agents."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, MissingExtraError
from contextune.integrations._finder import Naming, ToolFinder, plain_name
from contextune.tools import ToolRetriever

try:
    import langgraph_bigtool
    from langchain_core.tools import BaseTool
    from langchain_core.tools import tool as make_tool
    from langgraph.graph import StateGraph

    from contextune.integrations.langchain import as_tool
except ModuleNotFoundError as error:
    raise MissingExtraError("the LangGraph integration", "langgraph") from error

Registry = Mapping[str, BaseTool | Callable[..., Any]]
"""Tools by id, as `langgraph-bigtool` takes them."""


def tool_lookup(
    registry: Registry,
    retriever: ToolRetriever | None = None,
    *,
    k: int = 4,
    naming: Naming = plain_name,
    embedder: Embedder | None = None,
) -> Callable[[str], list[str]]:
    """For `retrieve_tools_function=`: maps a query to the ids of matching tools in the registry.

    Without a retriever the registry is indexed at the first query; `naming` maps a retriever's tools to
    their names in the registry.
    """
    ids: dict[str, str] = {}
    tools = {key: _base_tool(tool) for key, tool in registry.items()}
    for key, tool in tools.items():
        if (other := ids.setdefault(tool.name, key)) != key:
            raise InvalidDataError(f"{other!r} and {key!r} have the same name, {tool.name!r}: rename one")
    candidates = [as_tool(tool) for tool in tools.values()]
    finder = ToolFinder(retriever, naming=naming, embedder=embedder)

    # the model reads its name and docstring
    def retrieve_tools(query: str) -> list[str]:
        """Find tools to use. Say in a few words what the tool should do."""
        return [ids[name] for name in finder.names(candidates, [query], k)]

    return retrieve_tools


def create_agent(
    llm: Any,
    tool_registry: Registry,
    retriever: ToolRetriever | None = None,
    *,
    k: int = 4,
    naming: Naming = plain_name,
    embedder: Embedder | None = None,
) -> "StateGraph[Any, Any, Any, Any]":
    """`create_agent` of `langgraph-bigtool` with Contextune's lookup; works with current LangGraph."""
    lookup = tool_lookup(tool_registry, retriever, k=k, naming=naming, embedder=embedder)
    graph = cast("Any", langgraph_bigtool).create_agent(
        llm, dict(tool_registry), retrieve_tools_function=lookup
    )
    node = graph.nodes["tools"].runnable
    if not hasattr(node, "inject_tool_args"):
        # bigtool 0.0.3 calls this method, which newer tool nodes no longer have
        node.inject_tool_args = _unchanged
    return graph


def _unchanged(call: Any, _state: object, _store: object) -> Any:
    return call


def _base_tool(tool: BaseTool | Callable[..., Any]) -> BaseTool:
    return tool if isinstance(tool, BaseTool) else cast("Any", make_tool)(tool)
