"""LlamaIndex: an agent with context, tools and feedback; retrievers; `tool_retriever=` for agents."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, cast

from contextune.context import needed_items
from contextune.embed import Embedder
from contextune.errors import MissingExtraError
from contextune.integrations._finder import (
    AssistantTurn,
    NameFilter,
    Naming,
    ToolCallTurn,
    UserTurn,
    plain_name,
)
from contextune.integrations.shortlist import insert_prompts
from contextune.integrations.user_context import UserContext
from contextune.tools import ToolFilter, ToolRetriever
from contextune.tools.tool_text import tool_text
from contextune.tuner import Tuner
from contextune.types import Coordinates, Request, Tool

try:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.agent.workflow.workflow_events import AgentOutput, ToolCallResult
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
    from llama_index.core.memory import BaseMemory
    from llama_index.core.objects import ObjectRetriever, SimpleToolNodeMapping
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.tools import AsyncBaseTool, BaseTool
except ModuleNotFoundError as error:
    raise MissingExtraError("the LlamaIndex integration", "llama-index") from error


def as_tool(tool: BaseTool) -> Tool:
    """Convert a LlamaIndex tool."""
    metadata = tool.metadata
    return Tool(
        metadata.get_name(), metadata.description, parameters=cast("Any", metadata).get_parameters_dict()
    )


class _Nodes(BaseRetriever):
    """Base class: no results for a blank query, and async retrieval in a thread."""

    def __init__(self) -> None:
        cast("Any", super()).__init__()

    def _search(self, text: str) -> list[NodeWithScore]:
        raise NotImplementedError

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._search(query_bundle.query_str) if query_bundle.query_str.strip() else []

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class ToolNodes(_Nodes):
    """Retriever of tools as nodes, best first; node ids are tool ids."""

    def __init__(
        self,
        tools: ToolRetriever,
        k: int = 10,
        *,
        filter: ToolFilter | None = None,  # noqa: A002
        naming: Naming = plain_name,
    ) -> None:
        """`naming` gives the `name` in a node's metadata."""
        super().__init__()
        self._tools, self._k, self._filter, self._naming = tools, k, filter, naming

    def _search(self, text: str) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.tool.id,
                    text=tool_text(hit.tool),
                    metadata={"name": self._naming(hit.tool), "app": hit.tool.app},
                ),
                score=hit.score,
            )
            for hit in self._tools.search(text, self._k, filter=self._filter)
        ]


class ContextNodes(_Nodes):
    """Retriever of the user's items that a request refers to, as nodes, best first."""

    def __init__(
        self,
        tuner: Tuner,
        user: str,
        k: int = 10,
        *,
        now: Callable[[], datetime] | None = None,
        place: str | Coordinates | None = None,
    ) -> None:
        """`now` and `place` give time and place of requests; the default time is the system clock."""
        super().__init__()
        self._tuner, self._user, self._k, self._now, self._place = tuner, user, k, now, place

    def _search(self, text: str) -> list[NodeWithScore]:
        options: dict[str, Any] = {"time": self._now()} if self._now else {}
        request = Request(text, self._user, place=self._place, **options)
        hits = needed_items(self._tuner.context(request, self._k))
        nodes: list[NodeWithScore] = []
        for hit in hits:
            item = hit.item
            metadata = {"app": item.app, "title": item.title}
            if item.time:
                metadata["time"] = item.time.isoformat()
            node = TextNode(id_=item.id, text=item.text, metadata=metadata)
            nodes.append(NodeWithScore(node=node, score=hit.score))
        return nodes


def tool_retriever(
    tools: Sequence[BaseTool],
    k: int = 8,
    *,
    retriever: ToolRetriever | None = None,
    naming: Naming = plain_name,
    embedder: Embedder | None = None,
    min_fit: float | None = None,
) -> ObjectRetriever[BaseTool]:
    """For `tool_retriever=` of an agent: retrieves those of `tools` that fit the user's message.

    Without a retriever the tools are indexed now, with the threshold `min_fit`; `naming` maps a retriever's
    tools to their names here.
    """
    name_filter = None
    if retriever:
        name_filter = NameFilter(naming=naming, names=frozenset(tool.metadata.get_name() for tool in tools))
    nodes = ToolNodes(
        retriever or ToolRetriever(map(as_tool, tools), embedder, min_fit=min_fit),
        k,
        filter=name_filter,
        naming=naming,
    )
    return ObjectRetriever(nodes, SimpleToolNodeMapping(tools))


class UserContextFunctionAgent(FunctionAgent):
    """A `FunctionAgent` that gets the user's items before each message and relevant tools, with feedback.

    A function given to `UserContext` as `user` or `place` gets the workflow's context. Items are added to the
    model's input only; the memory stays as it is. A tool call that returns is recorded as right.
    """

    user_context: UserContext

    async def take_step(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        """Call the model with the user's items and the selected tools."""
        scratchpad: list[ChatMessage] = await ctx.store.get(self.scratchpad_key, default=[])
        conversation = [*_conversation([*llm_input, *scratchpad])]
        turn = await self.user_context.aturn(conversation, ctx)
        if turn:
            own = {tool.metadata.get_name(): tool for tool in tools}
            handoff = own.pop(_HANDOFF, None)
            candidates = [as_tool(tool) for tool in own.values()]
            names = await self.user_context.aselect_tools(candidates, conversation, turn)
            tools = [*(own[name] for name in names), *([handoff] if handoff else [])]
            llm_input = insert_prompts(
                llm_input, self.user_context.prompts(conversation, turn), _is_user, _user_message
            )
        return await super().take_step(ctx, llm_input, tools, memory)

    async def handle_tool_call_results(
        self, ctx: Any, results: list[ToolCallResult], memory: BaseMemory
    ) -> None:
        """Record the calls that did not fail."""
        messages = cast("list[ChatMessage]", await cast("Any", memory).aget())
        turn = await self.user_context.aturn([*_conversation(messages)], ctx, restart=False)
        for result in results:
            if turn and not result.tool_output.is_error and result.tool_name != _HANDOFF:
                arguments = cast("dict[str, Any]", result.tool_kwargs)
                await self.user_context.arecord_call(turn, result.tool_name, arguments)
        await super().handle_tool_call_results(ctx, results, memory)


_HANDOFF = "handoff"
"""LlamaIndex's own tool that passes a conversation to another agent."""


def _is_user(message: ChatMessage) -> bool:
    return message.role == MessageRole.USER and bool((message.content or "").strip())


def _user_message(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=text)


def _conversation(messages: Sequence[ChatMessage]) -> Iterator[UserTurn | ToolCallTurn | AssistantTurn]:
    for message in messages:
        text = (message.content or "").strip()
        if message.role == MessageRole.USER and text:
            yield UserTurn(text)
        elif message.role == MessageRole.ASSISTANT:
            if text:
                yield AssistantTurn(text)
            for block in message.blocks:
                if isinstance(block, ToolCallBlock):
                    yield ToolCallTurn(block.tool_name)
