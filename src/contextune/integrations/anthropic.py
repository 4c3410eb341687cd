"""Anthropic's Messages API: the tools of a turn, and tool search by Contextune.

All of it is plain dicts, as the `anthropic` package types them; the package itself is not needed.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from contextune.integrations import _tool_schemas
from contextune.integrations._finder import search_each
from contextune.integrations._tool_schemas import called
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

__all__ = ["called", "deferred_tools", "is_search", "search_result", "tool_params"]


def tool_params(tools: Iterable[Tool], *, defer: bool = False) -> "list[ToolParam]":
    """`tools=` of a request; with `defer` the model sees them only once a search has found them."""
    params: list[ToolParam] = []
    for name, tool in _tool_schemas.named_apart(tools).items():
        param: ToolParam = {
            "name": name,
            "description": tool.description or tool.title,
            "input_schema": _tool_schemas.object_schema(tool),
        }
        params.append({**param, "defer_loading": True} if defer else param)
    return params


def deferred_tools(tools: Iterable[Tool], always: Collection[str] = ()) -> "list[ToolParam]":
    """`tools=` for a talk in which the model searches: the search tool, those of `always`, the rest deferred.

    It is the same in every turn, so the prompt cache holds.
    """
    catalog = tools if isinstance(tools, Catalog) else Catalog(tools)
    shown = [catalog.tool(name) for name in always]
    hidden = [tool for tool in catalog if tool not in shown]
    _tool_schemas.named_apart(catalog)
    search: ToolParam = {
        "name": _tool_schemas.SEARCH_NAME,
        "description": _tool_schemas.SEARCH_DESCRIPTION,
        "input_schema": _tool_schemas.search_schema(),
    }
    return [search, *tool_params(shown), *tool_params(hidden, defer=True)]


def is_search(block: object) -> bool:
    """Whether a block of the model's answer is a call of the search tool."""
    return (
        _tool_schemas.field_of(block, "type") == "tool_use"
        and _tool_schemas.field_of(block, "name") == _tool_schemas.SEARCH_NAME
    )


def search_result(
    block: "ToolUseBlock | ToolUseBlockParam",
    retriever: ToolRetriever,
    k: int = 5,
    *,
    always: Collection[str] = (),
    only: ToolFilter | None = None,
) -> "ToolResultBlockParam":
    """What to answer a call of the search tool with: references to the tools found, which load them.

    Give the same `always` as to `deferred_tools`: only what is deferred may be referred to.
    """
    result: ToolResultBlockParam = {
        "type": "tool_result",
        "tool_use_id": str(_tool_schemas.field_of(block, "id")),
    }
    texts = _tool_schemas.queries(_tool_schemas.field_of(block, "input"))
    if not texts:
        return {**result, "content": _tool_schemas.NO_QUERY, "is_error": True}
    found = search_each(retriever, texts, k, only=only, beside=always)
    references: list[ToolReferenceBlockParam] = [
        {"type": "tool_reference", "tool_name": _tool_schemas.wire_name(tool)} for tool in found
    ]
    # an empty list is refused by the API
    return {**result, "content": references or _tool_schemas.NOTHING_FOUND}
