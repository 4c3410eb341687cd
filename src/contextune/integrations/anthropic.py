"""Anthropic's Messages API: context, tools of a turn, and tool search.

Produces plain dicts in the types of the `anthropic` package, which need not be installed.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from contextune.integrations import _tool_schemas
from contextune.integrations._chat_messages import is_user_message, read_messages
from contextune.integrations._finder import search_each
from contextune.integrations._tool_schemas import tool_by_wire_name
from contextune.integrations.user_context import UserContext
from contextune.tools import Catalog, ToolFilter, ToolRetriever
from contextune.types import Tool

if TYPE_CHECKING:
    from anthropic.types import (
        MessageParam,
        ToolParam,
        ToolReferenceBlockParam,
        ToolResultBlockParam,
        ToolUseBlock,
        ToolUseBlockParam,
    )

__all__ = [
    "deferred_tools",
    "is_search",
    "search_result",
    "tool_by_wire_name",
    "tool_params",
    "with_user_context",
]


def with_user_context(
    messages: "Sequence[MessageParam]", context: UserContext, tools: Iterable[Tool], run: object = None
) -> dict[str, Any]:
    """`messages=` and `tools=` of a request: the user's items in their messages, and relevant tools.

    Keep your own `messages` for the next turn; the items of earlier turns are added again at their places.
    With the results of `deferred_tools` as `tools=` instead, the model searches for itself.
    """
    shortlist = context.shortlist([*tools], read_messages(messages), run, naming=_tool_schemas.wire_name)
    prompts = iter(shortlist.prompts)
    sent = [
        _with_prompt(message, next(prompts, "")) if is_user_message(message) else message
        for message in messages
    ]
    return {"messages": sent, "tools": tool_params(shortlist.tools)}


def _with_prompt(message: "MessageParam", prompt: str) -> "MessageParam":
    """The message with a text before its own; results of tools must stay first."""
    if not prompt:
        return message
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    results = [block for block in content if _tool_schemas.get_field(block, "type") == "tool_result"]
    others = [block for block in content if _tool_schemas.get_field(block, "type") != "tool_result"]
    return cast("MessageParam", {**message, "content": [*results, {"type": "text", "text": prompt}, *others]})


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
    min_fit: float | None = None,
) -> "ToolResultBlockParam":
    """The result of a call of the search tool: references to the tools, which load their definitions.

    Pass the same `always` as to `deferred_tools`: the API accepts references to deferred tools only. With
    `min_fit`, as with the retriever's, the result says that no tool fits where `fits` is lower.
    """
    result: ToolResultBlockParam = {
        "type": "tool_result",
        "tool_use_id": str(_tool_schemas.get_field(block, "id")),
    }
    texts = _tool_schemas.parse_queries(_tool_schemas.get_field(block, "input"))
    if not texts:
        return {**result, "content": _tool_schemas.NO_QUERY, "is_error": True}
    found = search_each(retriever, texts, k, filter=filter, exclude=always, min_fit=min_fit)
    if found.nothing_fits:
        return {**result, "content": found.nothing_fits.note}
    references: list[ToolReferenceBlockParam] = [
        {"type": "tool_reference", "tool_name": _tool_schemas.wire_name(tool)} for tool in found.tools
    ]
    # the API rejects an empty list
    return {**result, "content": references or _tool_schemas.NOTHING_FOUND}
