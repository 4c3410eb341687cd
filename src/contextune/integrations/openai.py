"""OpenAI's Responses and Chat Completions APIs: tools of a turn, and tool search.

Produces plain dicts in the types of the `openai` package, which need not be installed.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, cast

from contextune.errors import InvalidRequestError
from contextune.integrations import _tool_schemas
from contextune.integrations._finder import search_each
from contextune.integrations._tool_schemas import tool_by_wire_name
from contextune.tools import Catalog, ToolFilter, ToolRetriever
from contextune.types import Tool

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionFunctionToolParam
    from openai.types.responses import (
        FunctionToolParam,
        ResponseToolSearchCall,
        ResponseToolSearchOutputItemParamParam,
        ToolParam,
        ToolSearchToolParam,
    )

__all__ = [
    "chat_tool_params",
    "is_search",
    "search_output",
    "search_tools",
    "tool_by_wire_name",
    "tool_params",
]


def tool_params(tools: Iterable[Tool], *, defer: bool = False) -> "list[FunctionToolParam]":
    """`tools=` of the Responses API; `defer` needs the search tool in the same list."""
    params: list[FunctionToolParam] = []
    for name, tool in _tool_schemas.tools_by_wire_name(tools).items():
        param: FunctionToolParam = {
            "type": "function",
            "name": name,
            "description": tool.description or tool.title,
            "parameters": _tool_schemas.object_schema(tool),
            "strict": False,  # strict mode supports only a subset of JSON Schema
        }
        params.append({**param, "defer_loading": True} if defer else param)
    return params


def chat_tool_params(tools: Iterable[Tool]) -> "list[ChatCompletionFunctionToolParam]":
    """`tools=` of Chat Completions and compatible servers."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": tool.description or tool.title,
                "parameters": _tool_schemas.object_schema(tool),
            },
        }
        for name, tool in _tool_schemas.tools_by_wire_name(tools).items()
    ]


def search_tools(tools: Iterable[Tool], always: Collection[str] = ()) -> "list[ToolParam]":
    """`tools=` for tool search: the search tool and those of `always`.

    Other tools are not sent; `search_output` loads them. The same in every turn, so the prompt cache stays
    valid.
    """
    catalog = tools if isinstance(tools, Catalog) else Catalog(tools)
    _tool_schemas.tools_by_wire_name(catalog)
    search: ToolSearchToolParam = {
        "type": "tool_search",
        "execution": "client",
        "description": _tool_schemas.SEARCH_DESCRIPTION,
        "parameters": _tool_schemas.search_schema(),
    }
    return [search, *tool_params(catalog.tool(name) for name in always)]


def is_search(item: object) -> bool:
    """Whether an item of the model's output is a search call for the client."""
    return (
        _tool_schemas.get_field(item, "type") == "tool_search_call"
        and _tool_schemas.get_field(item, "execution") == "client"
    )


def search_output(
    item: "ResponseToolSearchCall | dict[str, Any]",
    retriever: ToolRetriever,
    k: int = 5,
    *,
    always: Collection[str] = (),
    filter: ToolFilter | None = None,  # noqa: A002
) -> "ResponseToolSearchOutputItemParamParam":
    """The answer to a search call, for the next request's `input`; it loads the tools.

    Pass the same `always` as to `search_tools`: the model has those already.
    """
    if not is_search(item):
        raise InvalidRequestError(
            f"not a search call for the client: {_tool_schemas.get_field(item, 'type')!r} (see is_search)"
        )
    texts = _tool_schemas.parse_queries(_tool_schemas.get_field(item, "arguments"))
    tools = search_each(retriever, texts, k, filter=filter, exclude=always)
    return {
        "type": "tool_search_output",
        "execution": "client",
        "call_id": cast("str | None", _tool_schemas.get_field(item, "call_id")),
        "status": "completed",
        "tools": tool_params(tools, defer=True),
    }
