"""LangChain agent middleware: context, tools and feedback; or the tools of the conversation alone."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from contextune.embed import Embedder
from contextune.errors import InvalidRequestError, MissingExtraError
from contextune.integrations._finder import (
    AssistantTurn,
    Naming,
    ToolCallTurn,
    ToolFinder,
    UserTurn,
    plain_name,
)
from contextune.integrations._stable_order import OrderMode, StableOrder
from contextune.integrations.shortlist import insert_prompts
from contextune.integrations.user_context import UserContext
from contextune.tools import ToolRetriever

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
    from langchain_core.tools import BaseTool
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command

    from contextune.integrations.langchain import as_tool
except ModuleNotFoundError as error:
    raise MissingExtraError("the LangChain agent middleware", "langchain") from error


class UserContextMiddleware(AgentMiddleware[Any, Any]):
    """For `create_agent(…, middleware=[…])`: the user's items before each message, tools, and feedback.

    A function given to `UserContext` as `user` or `place` gets the runtime. Items are added to the model's
    input only; the state of the agent stays as it is. A tool call that returns is recorded as right.
    """

    def __init__(self, context: UserContext) -> None:
        """Add this context to the agent's runs."""
        super().__init__()
        self._context = context

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the user's items and the selected tools."""
        return handler(self._add_context(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model with the user's items and the selected tools."""
        return await handler(await asyncio.to_thread(self._add_context, request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Call the tool, and record the call if it did not fail."""
        result = handler(request)
        self._record(request, result)
        return result

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Call the tool, and record the call if it did not fail."""
        result = await handler(request)
        await asyncio.to_thread(self._record, request, result)
        return result

    def _add_context(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        conversation = [*read_conversation(request.messages)]
        turn = self._context.turn(conversation, request.runtime)
        if turn is None:
            return request
        tools = {tool.name: tool for tool in request.tools if isinstance(tool, BaseTool)}
        names = self._context.select_tools([*map(as_tool, tools.values())], conversation, turn)
        # provider-side tools are dicts; they are passed on unchanged
        others = [tool for tool in request.tools if not isinstance(tool, BaseTool)]
        return request.override(
            messages=insert_user_prompts(request.messages, self._context.prompts(conversation, turn)),
            tools=[*others, *(tools[name] for name in names)],
        )

    def _record(self, request: ToolCallRequest, result: object) -> None:
        record_tool_call(self._context, request, result, cast("Any", request).runtime)


def record_tool_call(context: UserContext, request: ToolCallRequest, result: object, run: object) -> None:
    """Record a call of a tool node, unless its result is an error."""
    if isinstance(result, ToolMessage) and result.status == "error":
        return
    turn = context.turn([*read_conversation(request.state["messages"])], run, restart=False)
    if turn:
        context.record_call(turn, request.tool_call["name"], request.tool_call["args"])


def insert_user_prompts(messages: Sequence[BaseMessage], prompts: Sequence[str]) -> list[Any]:
    """The messages with a text before each message of the user."""
    return insert_prompts(messages, prompts, _is_user, HumanMessage)


def _is_user(message: object) -> bool:
    return isinstance(message, HumanMessage) and bool(message.text.strip())


class ToolSelectionMiddleware(AgentMiddleware[Any, Any]):
    """For `create_agent(…, middleware=[…])`: selects tools, in a stable order from turn to turn."""

    def __init__(
        self,
        retriever: ToolRetriever | None = None,
        k: int = 8,
        *,
        always: Sequence[str] = (),
        keep: int = 32,
        mode: OrderMode = "recent",
        naming: Naming = plain_name,
        embedder: Embedder | None = None,
        min_fit: float | None = None,
    ) -> None:
        """Without a retriever the agent's tools are indexed; at most `keep` tools are offered.

        `mode` says what a turn may change of the list, as in `UserContext`. With `min_fit`, a message whose
        `fits` is lower adds no tool.
        """
        super().__init__()
        StableOrder(k, keep, always, mode=mode)  # raises for invalid settings before the first run
        self._finder = ToolFinder(retriever, naming=naming, embedder=embedder, min_fit=min_fit)
        self._k, self._keep, self._always = k, keep, always
        self._mode: OrderMode = mode

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the selected tools."""
        return handler(self._select_tools(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model with the selected tools."""
        return await handler(await asyncio.to_thread(self._select_tools, request))

    def _select_tools(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        tools = {tool.name: tool for tool in request.tools if isinstance(tool, BaseTool)}
        if missing := [name for name in self._always if name not in tools]:
            raise InvalidRequestError(f"always: no such tool: {missing[0]!r}")
        conversation = [*read_conversation(request.messages)]
        if len(tools) <= self._k or not any(isinstance(turn, UserTurn) for turn in conversation):
            return request  # too few tools to choose from, or no text to search with
        candidates = [as_tool(tool) for tool in tools.values()]
        order = StableOrder(self._k, self._keep, self._always, mode=self._mode)
        names = self._finder.for_conversation(candidates, conversation, order, self._k)
        # provider-side tools are dicts; they are passed on unchanged
        others = [tool for tool in request.tools if not isinstance(tool, BaseTool)]
        return request.override(tools=[*others, *(tools[name] for name in names)])


def read_conversation(messages: Iterable[object]) -> Iterator[UserTurn | ToolCallTurn | AssistantTurn]:
    """The turns of LangChain messages."""
    for message in messages:
        if isinstance(message, HumanMessage) and (text := message.text.strip()):
            yield UserTurn(text)
        elif isinstance(message, AIMessage):
            if message.text.strip():
                yield AssistantTurn(message.text)
            yield from (ToolCallTurn(call["name"]) for call in message.tool_calls)
