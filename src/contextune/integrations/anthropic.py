"""Anthropic's Messages API: tools of a turn, and tool search.

Produces plain dicts in the types of the `anthropic` package, which need not be installed.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from contextune.integrations import _tool_schemas
from contextune.integrations._finder import search_each
from contextune.integrations._tool_schemas import tool_by_wire_name
from contextune.tools import Catalog, ToolFilter, ToolRetriever
from contextune.types import Tool

if TYPE_CHECKING:
    from anthropic.types import (
        ToolParam,
        ToolReferenceBlockParam,
        ToolResultBlockParam,
        ToolUseBlock,
        ToolUseBlockParam,
    )

__all__ = ["deferred_tools", "is_search", "search_result", "tool_by_wire_name", "tool_params"]


def tool_params(tools: Iterable[Tool], *, defer: bool = False) -> "list[ToolParam]":
    """`tools=` of a request; with `defer` the model sees a tool only after a search returned it."""
    params: list[ToolParam] = []
    for name, tool in _tool_schemas.tools_by_wire_name(tools).items():
        param: ToolParam = {
            "name": name,
            "description": tool.description or tool.title,
            "input_schema": _tool_schemas.object_schema(tool),
        }
        params.append({**param, "defer_loading": True} if defer else param)
    return params


def deferred_tools(tools: Iterable[Tool], always: Collection[str] = ()) -> "list[ToolParam]":
    """`tools=` for tool search: the search tool, those of `always`, and all others deferred.

    The same in every turn, so the prompt cache stays valid.
    """
    catalog = tools if isinstance(tools, Catalog) else Catalog(tools)
    visible = [catalog.tool(name) for name in always]
    deferred = [tool for tool in catalog if tool not in visible]
    _tool_schemas.tools_by_wire_name(catalog)
    search: ToolParam = {
        "name": _tool_schemas.SEARCH_NAME,
        "description": _tool_schemas.SEARCH_DESCRIPTION,
        "input_schema": _tool_schemas.search_schema(),
    }
    return [search, *tool_params(visible), *tool_params(deferred, defer=True)]


def is_search(block: object) -> bool:
    """Whether a block of the model's message calls the search tool."""
    return (
        _tool_schemas.get_field(block, "type") == "tool_use"
        and _tool_schemas.get_field(block, "name") == _tool_schemas.SEARCH_NAME
    )


def search_result(
    block: "ToolUseBlock | ToolUseBlockParam",
    retriever: ToolRetriever,
    k: int = 5,
    *,
    always: Collection[str] = (),
    filter: ToolFilter | None = None,  # noqa: A002
) -> "ToolResultBlockParam":
    """The result of a call of the search tool: references to the tools, which load their definitions.

    Pass the same `always` as to `deferred_tools`: the API accepts references to deferred tools only.
    """
    result: ToolResultBlockParam = {
        "type": "tool_result",
        "tool_use_id": str(_tool_schemas.get_field(block, "id")),
    }
    texts = _tool_schemas.parse_queries(_tool_schemas.get_field(block, "input"))
    if not texts:
        return {**result, "content": _tool_schemas.NO_QUERY, "is_error": True}
    tools = search_each(retriever, texts, k, filter=filter, exclude=always)
    references: list[ToolReferenceBlockParam] = [
        {"type": "tool_reference", "tool_name": _tool_schemas.wire_name(tool)} for tool in tools
    ]
    # the API rejects an empty list
    return {**result, "content": references or _tool_schemas.NOTHING_FOUND}
