"""OpenAI's Responses and Chat Completions APIs: context, tools of a turn, and tool search.

Produces plain dicts in the types of the `openai` package, which need not be installed.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.integrations import _tool_schemas
from contextune.integrations._chat_messages import is_user_message, read_messages
from contextune.integrations._finder import search_each
from contextune.integrations._tool_schemas import tool_by_wire_name
from contextune.integrations.shortlist import Shortlist, insert_prompts
from contextune.integrations.user_context import UserContext
from contextune.tools import Catalog, ToolFilter, ToolRetriever
from contextune.types import Tool

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionFunctionToolParam
    from openai.types.responses import (
        FunctionToolParam,
        NamespaceToolParam,
        ResponseToolSearchCall,
        ResponseToolSearchOutputItemParamParam,
        ToolParam,
        ToolSearchToolParam,
    )

__all__ = [
    "chat_tool_params",
    "chat_with_user_context",
    "is_search",
    "namespaced_tools",
    "search_output",
    "search_tools",
    "tool_by_call",
    "tool_by_wire_name",
    "tool_params",
    "with_user_context",
]


def with_user_context(
    items: Sequence[Any], context: UserContext, tools: Iterable[Tool], run: object = None
) -> dict[str, Any]:
    """`input=` and `tools=` of the Responses API: the user's items before their messages, relevant tools.

    Keep your own `items` for the next turn; what was added to earlier turns is added again at its place.
    With the result of `search_tools` as `tools=` instead, the model searches for itself.
    """
    shortlist = _shortlist(items, context, tools, run)
    return {"input": _insert(items, shortlist), "tools": tool_params(shortlist.tools)}


def chat_with_user_context(
    messages: Sequence[Any], context: UserContext, tools: Iterable[Tool], run: object = None
) -> dict[str, Any]:
    """`messages=` and `tools=` of Chat Completions, as `with_user_context`."""
    shortlist = _shortlist(messages, context, tools, run)
    return {"messages": _insert(messages, shortlist), "tools": chat_tool_params(shortlist.tools)}


def _shortlist(
    messages: Sequence[Any], context: UserContext, tools: Iterable[Tool], run: object
) -> Shortlist:
    return context.shortlist([*tools], read_messages(messages), run, naming=_tool_schemas.wire_name)


def _insert(messages: Sequence[Any], shortlist: Shortlist) -> list[Any]:
    return insert_prompts(
        messages, shortlist.prompts, is_user_message, lambda text: {"role": "user", "content": text}
    )


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


def namespaced_tools(
    tools: Iterable[Tool], *, defer: bool = False
) -> "list[FunctionToolParam | NamespaceToolParam]":
    """`tools=` of the Responses API, with the tools of each server in a namespace of its name.

    `tool_by_call` finds the tool of a call.
    """
    params: list[FunctionToolParam | NamespaceToolParam] = []
    by_app: dict[str, list[Tool]] = {}
    catalog = [*tools]
    _tool_schemas.tools_by_wire_name(catalog)  # names must differ
    for tool in catalog:
        by_app.setdefault(tool.app, []).append(tool)
    for app, own in by_app.items():
        functions = tool_params([replace(tool, app="") for tool in own] if app else own, defer=defer)
        if not app:
            params += functions
            continue
        params.append(
            {
                "type": "namespace",
                "name": _tool_schemas.wire_name(Tool(app, "")),
                "description": f"The tools of {app}.",
                "tools": cast("Any", functions),
            }
        )
    return params


def tool_by_call(item: object, tools: Iterable[Tool]) -> Tool:
    """The tool of a `function_call`, which may be one of a namespace."""
    name, namespace = (_tool_schemas.get_field(item, field) for field in ("name", "namespace"))
    if not namespace:
        return tool_by_wire_name(str(name), tools)
    own = {
        _tool_schemas.wire_name(replace(tool, app="")): tool
        for tool in tools
        if tool.app and _tool_schemas.wire_name(Tool(tool.app, "")) == namespace
    }
    if str(name) not in own:
        raise InvalidDataError(
            f"the model called an unknown tool: {name!r} of {namespace!r} (return this error to it)"
        )
    return own[str(name)]


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
    namespaces: bool = False,
    min_fit: float | None = None,
) -> "ResponseToolSearchOutputItemParamParam":
    """The answer to a search call, for the next request's `input`; it loads the tools.

    Pass the same `always` as to `search_tools`: the model has those already. With `namespaces`, the tools of
    each server are in a namespace of its name. With `min_fit`, as with the retriever's, no tool is loaded
    where `fits` is lower: the format has no place for the reason.
    """
    if not is_search(item):
        raise InvalidRequestError(
            f"not a search call for the client: {_tool_schemas.get_field(item, 'type')!r} (see is_search)"
        )
    texts = _tool_schemas.parse_queries(_tool_schemas.get_field(item, "arguments"))
    found = search_each(retriever, texts, k, filter=filter, exclude=always, min_fit=min_fit)
    return {
        "type": "tool_search_output",
        "execution": "client",
        "call_id": cast("str | None", _tool_schemas.get_field(item, "call_id")),
        "status": "completed",
        "tools": cast("Any", namespaced_tools if namespaces else tool_params)(found.tools, defer=True),
    }
