"""LangChain agents: middleware that shows the model only the tools the talk calls for."""

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
    raise MissingExtraError("the LangChain agents' hook", "langchain") from error


class ToolSelectionMiddleware(AgentMiddleware[Any, Any]):
    """For `create_agent(…, middleware=[…])`: few tools, in an order that is stable from turn to turn."""

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
        """Without a retriever the agent's tools are indexed; `keep` bounds how many are offered in all."""
        super().__init__()
        StableOrder(k, keep, always)  # so that what does not go together is refused before any run
        self._finder = ToolFinder(retriever, naming=naming, embedder=embedder)
        self._k, self._keep, self._always = k, keep, always

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Ask the model with fewer tools."""
        return handler(self._narrowed(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Ask the model with fewer tools."""
        return await handler(await asyncio.to_thread(self._narrowed, request))

    def _narrowed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        tools = {tool.name: tool for tool in request.tools if isinstance(tool, BaseTool)}
        if missing := [name for name in self._always if name not in tools]:
            raise InvalidRequestError(f"there is no tool {missing[0]!r} to offer always")
        talk = [*_talk(request.messages)]
        if len(tools) <= self._k or not any(isinstance(step, UserTurn) for step in talk):
            return request  # nothing to choose, or nothing to go by
        offered = [as_tool(tool) for tool in tools.values()]
        places = StableOrder(self._k, self._keep, self._always)
        names = self._finder.for_talk(offered, talk, places, self._k)
        # tools that the provider runs are dicts, and none of our business
        others = [tool for tool in request.tools if not isinstance(tool, BaseTool)]
        return request.override(tools=[*others, *(tools[name] for name in names)])


def _talk(messages: Iterable[object]) -> Iterator[UserTurn | ToolCallTurn]:
    for message in messages:
        if isinstance(message, HumanMessage) and (text := message.text.strip()):
            yield UserTurn(text)
        elif isinstance(message, AIMessage):
            yield from (ToolCallTurn(call["name"]) for call in message.tool_calls)
