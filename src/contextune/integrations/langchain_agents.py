"""LangChain agent middleware that offers the model only the tools relevant to the conversation."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

from contextune.embed import Embedder
from contextune.errors import InvalidRequestError, MissingExtraError
from contextune.integrations._finder import Naming, ToolCallTurn, ToolFinder, UserTurn, plain_name
from contextune.integrations._stable_order import StableOrder
from contextune.tools import ToolRetriever

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.tools import BaseTool

    from contextune.integrations.langchain import as_tool
except ModuleNotFoundError as error:
    raise MissingExtraError("the LangChain agent middleware", "langchain") from error


class ToolSelectionMiddleware(AgentMiddleware[Any, Any]):
    """For `create_agent(…, middleware=[…])`: selects tools, in a stable order from turn to turn."""

    def __init__(
        self,
        retriever: ToolRetriever | None = None,
        k: int = 8,
        *,
        always: Sequence[str] = (),
        keep: int = 32,
        naming: Naming = plain_name,
        embedder: Embedder | None = None,
    ) -> None:
        """Without a retriever the agent's tools are indexed; at most `keep` tools are offered."""
        super().__init__()
        StableOrder(k, keep, always)  # raises for invalid settings before the first run
        self._finder = ToolFinder(retriever, naming=naming, embedder=embedder)
        self._k, self._keep, self._always = k, keep, always

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
        conversation = [*_conversation(request.messages)]
        if len(tools) <= self._k or not any(isinstance(turn, UserTurn) for turn in conversation):
            return request  # too few tools to choose from, or no text to search with
        candidates = [as_tool(tool) for tool in tools.values()]
        order = StableOrder(self._k, self._keep, self._always)
        names = self._finder.for_conversation(candidates, conversation, order, self._k)
        # provider-side tools are dicts; they are passed on unchanged
        others = [tool for tool in request.tools if not isinstance(tool, BaseTool)]
        return request.override(tools=[*others, *(tools[name] for name in names)])


def _conversation(messages: Iterable[object]) -> Iterator[UserTurn | ToolCallTurn]:
    for message in messages:
        if isinstance(message, HumanMessage) and (text := message.text.strip()):
            yield UserTurn(text)
        elif isinstance(message, AIMessage):
            yield from (ToolCallTurn(call["name"]) for call in message.tool_calls)
