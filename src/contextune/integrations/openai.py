"""OpenAI's Responses and Chat Completions APIs: the tools of a turn, and tool search by Contextune.

All of it is plain dicts, as the `openai` package types them; the package itself is not needed.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, cast

from contextune.errors import InvalidRequestError
from contextune.integrations import _tool_schemas
from contextune.integrations._finder import search_each
from contextune.integrations._tool_schemas import called
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

__all__ = ["called", "chat_tool_params", "is_search", "search_output", "search_tools", "tool_params"]


def tool_params(tools: Iterable[Tool], *, defer: bool = False) -> "list[FunctionToolParam]":
    """`tools=` of a request to the Responses API; deferred ones need a search tool beside them."""
    params: list[FunctionToolParam] = []
    for name, tool in _tool_schemas.named_apart(tools).items():
        param: FunctionToolParam = {
            "type": "function",
            "name": name,
            "description": tool.description or tool.title,
            "parameters": _tool_schemas.object_schema(tool),
            "strict": False,  # strict wants schemas of one shape, which tools from elsewhere do not have
        }
        params.append({**param, "defer_loading": True} if defer else param)
    return params


def chat_tool_params(tools: Iterable[Tool]) -> "list[ChatCompletionFunctionToolParam]":
    """`tools=` of a request to Chat Completions, which most other servers speak too."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": tool.description or tool.title,
                "parameters": _tool_schemas.object_schema(tool),
            },
        }
        for name, tool in _tool_schemas.named_apart(tools).items()
    ]


def search_tools(tools: Iterable[Tool], always: Collection[str] = ()) -> "list[ToolParam]":
    """`tools=` for a talk in which the model searches: the search tool and those of `always`.

    The others are not sent at all; the model gets to know them by `search_output`. It is the same in every
    turn, so the prompt cache holds.
    """
    catalog = tools if isinstance(tools, Catalog) else Catalog(tools)
    _tool_schemas.named_apart(catalog)
    search: ToolSearchToolParam = {
        "type": "tool_search",
        "execution": "client",
        "description": _tool_schemas.SEARCH_DESCRIPTION,
        "parameters": _tool_schemas.search_schema(),
    }
    return [search, *tool_params(catalog.tool(name) for name in always)]


def is_search(item: object) -> bool:
    """Whether an item of the model's output asks this side to search."""
    return (
        _tool_schemas.field_of(item, "type") == "tool_search_call"
        and _tool_schemas.field_of(item, "execution") == "client"
    )


def search_output(
    item: "ResponseToolSearchCall | dict[str, Any]",
    retriever: ToolRetriever,
    k: int = 5,
    *,
    always: Collection[str] = (),
    only: ToolFilter | None = None,
) -> "ResponseToolSearchOutputItemParamParam":
    """What to answer a search call with, in the next request's `input`: the tools found, which loads them.

    Give the same `always` as to `search_tools`: the model has those already.
    """
    if not is_search(item):
        raise InvalidRequestError(
            f"{_tool_schemas.field_of(item, 'type')!r} is no search call to answer: ask is_search first"
        )
    texts = _tool_schemas.queries(_tool_schemas.field_of(item, "arguments"))
    found = search_each(retriever, texts, k, only=only, beside=always)
    return {
        "type": "tool_search_output",
        "execution": "client",
        "call_id": cast("str | None", _tool_schemas.field_of(item, "call_id")),
        "status": "completed",
        "tools": tool_params(found, defer=True),
    }
