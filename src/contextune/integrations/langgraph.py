"""LangGraph: nodes with context, tools and feedback; tool retrieval for `langgraph-bigtool` agents."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, cast

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, InvalidRequestError, MissingExtraError
from contextune.integrations._finder import Naming, ToolFinder, plain_name
from contextune.integrations.shortlist import Offer
from contextune.integrations.user_context import UserContext
from contextune.tools import ToolRetriever

try:
    import langgraph_bigtool
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
    from langchain_core.tools import BaseTool
    from langchain_core.tools import tool as make_tool
    from langgraph.config import get_store
    from langgraph.graph import MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode
    from langgraph.prebuilt.tool_node import ToolCallRequest

    from contextune.integrations.langchain import as_tool
    from contextune.integrations.langchain_agents import (
        insert_user_prompts,
        read_conversation,
        record_tool_call,
    )
except ModuleNotFoundError as error:
    raise MissingExtraError("the LangGraph integration", "langgraph") from error

_NAMESPACE = ("contextune", "offers")
Registry = Mapping[str, BaseTool | Callable[..., Any]]
"""Tools by id, as `langgraph-bigtool` takes them."""


class ContextState(MessagesState):
    """State of a graph that checkpoints what each message was sent with."""

    offers: list[Offer]


OfferPlace = Literal["state", "store"]
"""Where offers are kept: in the checkpointed state, which is a `ContextState`, or in the graph's `Store`."""


def model_node(
    model: BaseChatModel,
    tools: Sequence[BaseTool | Callable[..., Any]],
    context: UserContext,
    *,
    offers: OfferPlace | None = None,
) -> Runnable[Any, Any]:
    """A node that calls the model with the user's items and the tools relevant to the conversation.

    It reads and extends `messages` of the state. With `offers`, a conversation that another process goes on
    with is sent with the same items and tools, so that prompt caches stay valid. A function given to
    `UserContext` as `user` or `place` gets the `RunnableConfig`.
    """
    by_name = {tool.name: tool for tool in map(_base_tool, tools)}
    candidates = [as_tool(tool) for tool in by_name.values()]

    def prepare(state: Any, config: RunnableConfig) -> tuple[Any, list[Any], dict[str, Any]]:
        messages = state["messages"]
        conversation = [*read_conversation(messages)]
        if offers:
            kept = _load_offers(offers, state, context.user_of(config), config)
            context.restore(kept, candidates, conversation, config)
        shortlist = context.shortlist(candidates, conversation, config)
        bound = cast("Any", model).bind_tools([by_name[tool.name] for tool in shortlist.tools])
        update: dict[str, Any] = {}
        if offers:
            update = _save_offers(offers, context.offers(candidates, conversation, config), context, config)
        return bound, insert_user_prompts(messages, shortlist.prompts), update

    def call(state: Any, config: RunnableConfig) -> dict[str, Any]:
        bound, messages, update = prepare(state, config)
        return {"messages": [bound.invoke(messages, config)], **update}

    async def acall(state: Any, config: RunnableConfig) -> dict[str, Any]:
        bound, messages, update = await asyncio.to_thread(prepare, state, config)
        return {"messages": [await bound.ainvoke(messages, config)], **update}

    return cast("Any", RunnableLambda)(call, acall, name="model")


def _load_offers(place: OfferPlace, state: Any, user: str, config: RunnableConfig) -> list[Offer]:
    if place == "state":
        return state.get("offers") or []
    entry = get_store().get((*_NAMESPACE, user), _thread(config))
    return entry.value["offers"] if entry else []


def _save_offers(
    place: OfferPlace, offers: list[Offer], context: UserContext, config: RunnableConfig
) -> dict[str, Any]:
    """The update of the state."""
    if place == "state":
        return {"offers": offers}
    namespace = (*_NAMESPACE, context.user_of(config))
    # not indexed: what was offered is looked up by its conversation only
    get_store().put(namespace, _thread(config), {"offers": offers}, index=False)
    return {}


def _thread(config: RunnableConfig) -> str:
    thread = config.get("configurable", {}).get("thread_id")
    if not thread:
        raise InvalidRequestError("offers in the Store need a `thread_id` in the config's `configurable`")
    return str(thread)


def tool_node(tools: Sequence[BaseTool | Callable[..., Any]], context: UserContext) -> ToolNode:
    """A tool node that records calls that do not fail, with the items they used."""

    def call(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        result = execute(request)
        record_tool_call(context, request, result, cast("Any", request).runtime.config)
        return result

    async def acall(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        result = await execute(request)
        config = cast("Any", request).runtime.config
        await asyncio.to_thread(record_tool_call, context, request, result, config)
        return result

    return ToolNode([*map(_base_tool, tools)], wrap_tool_call=call, awrap_tool_call=acall)


def tool_lookup(
    registry: Registry,
    retriever: ToolRetriever | None = None,
    *,
    k: int = 4,
    naming: Naming = plain_name,
    embedder: Embedder | None = None,
    min_fit: float | None = None,
) -> Callable[[str], list[str]]:
    """For `retrieve_tools_function=`: maps a query to the ids of matching tools in the registry.

    Without a retriever the registry is indexed at the first query; `naming` maps a retriever's tools to
    their names in the registry. With `min_fit`, no id is returned where `fits` is lower.
    """
    ids: dict[str, str] = {}
    tools = {key: _base_tool(tool) for key, tool in registry.items()}
    for key, tool in tools.items():
        if (other := ids.setdefault(tool.name, key)) != key:
            raise InvalidDataError(f"{other!r} and {key!r} have the same name, {tool.name!r}: rename one")
    candidates = [as_tool(tool) for tool in tools.values()]
    finder = ToolFinder(retriever, naming=naming, embedder=embedder, min_fit=min_fit, wait=False)

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
    min_fit: float | None = None,
) -> "StateGraph[Any, Any, Any, Any]":
    """`create_agent` of `langgraph-bigtool` with Contextune's lookup; works with current LangGraph."""
    lookup = tool_lookup(tool_registry, retriever, k=k, naming=naming, embedder=embedder, min_fit=min_fit)
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
