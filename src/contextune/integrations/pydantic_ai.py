"""Pydantic AI: context, tools and feedback as a capability; tool search; a toolset of relevant tools."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, cast

from contextune.embed import Embedder
from contextune.errors import InvalidRequestError, MissingExtraError
from contextune.integrations._finder import (
    AssistantTurn,
    Conversation,
    Naming,
    ToolCallTurn,
    ToolFinder,
    UserTurn,
    plain_name,
)
from contextune.integrations._stable_order import OrderMode, StableOrder
from contextune.integrations._tool_schemas import annotations_from_hints
from contextune.integrations.user_context import UserContext
from contextune.tools import ToolRetriever
from contextune.types import Tool

try:
    from anyio import to_thread
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelRequestPart,
        TextPart,
        ToolCallPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import AgentDepsT, RunContext, ToolDefinition
    from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
except ModuleNotFoundError as error:
    raise MissingExtraError("the Pydantic AI integration", "pydantic-ai") from error


def as_tool(definition: ToolDefinition) -> Tool:
    """Convert a Pydantic AI tool."""
    return Tool(
        definition.name,
        definition.description or "",
        parameters=definition.parameters_json_schema,
        annotations=annotations_from_hints((definition.metadata or {}).get("annotations")),
    )


class UserContextCapability(AbstractCapability[AgentDepsT]):
    """For `Agent(…, capabilities=[…])`: the user's items before each prompt, relevant tools, and feedback.

    A function given to `UserContext` as `user` or `place` gets the `RunContext`. Items are added to the
    request only; the message history stays as it is. A tool call that returns is recorded as right.
    """

    def __init__(self, context: UserContext) -> None:
        """Add this context to the agent's runs."""
        self._context = context

    async def prepare_tools(
        self, ctx: RunContext[AgentDepsT], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """The tools relevant to the conversation, in stable order; deferred tools stay deferred."""
        conversation = [*_conversation(ctx.messages)]
        turn = await self._context.aturn(conversation, ctx)
        if turn is None:
            return tool_defs
        tools = {tool.name: tool for tool in tool_defs if not tool.defer_loading}
        names = await self._context.aselect_tools([*map(as_tool, tools.values())], conversation, turn)
        return [*(tools[name] for name in names), *(tool for tool in tool_defs if tool.defer_loading)]

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the user's items before the prompts; the turn began with `prepare_tools`."""
        conversation = [*_conversation(ctx.messages)]
        turn = await self._context.aturn(conversation, ctx, restart=False)
        if turn is None:
            return request_context
        prompts = self._context.prompts(conversation, turn)
        return replace(request_context, messages=_insert_prompts(request_context.messages, prompts))

    async def after_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,  # noqa: ARG002
        args: dict[str, Any],
        result: Any,
    ) -> Any:
        """Record the call."""
        turn = await self._context.aturn([*_conversation(ctx.messages)], ctx, restart=False)
        if turn:
            await self._context.arecord_call(turn, call.tool_name, args)
        return result


class SearchStrategy:
    """For `ToolSearch(strategy=…)`: answers the model's searches over deferred tools."""

    def __init__(
        self,
        retriever: ToolRetriever | None = None,
        *,
        k: int = 5,
        naming: Naming = plain_name,
        embedder: Embedder | None = None,
        min_fit: float | None = None,
    ) -> None:
        """Without a retriever the agent's tools are indexed; `naming` maps a retriever's tools to names.

        With `min_fit`, Pydantic AI answers that no tool was found where `fits` is lower.
        """
        self._finder = ToolFinder(retriever, naming=naming, embedder=embedder, min_fit=min_fit, wait=False)
        self._k = k

    async def __call__(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # signature of Pydantic AI
        queries: Sequence[str],
        tools: Sequence[ToolDefinition],
    ) -> list[str]:
        """The names of the best tools, best first."""
        candidates = [as_tool(tool) for tool in tools]
        return await to_thread.run_sync(self._finder.names, candidates, queries, self._k)


@dataclass
class PrepareTools(WrapperToolset[AgentDepsT]):
    """A toolset that offers only the tools relevant to the prompt and the earlier conversation.

    The order is stable from turn to turn. Wrap all tools to choose from in one instance; tools that are
    already deferred stay deferred.
    """

    k: int = 8
    """Number of tools selected for each user message."""
    _: KW_ONLY
    always: Sequence[str] = ()
    """Names of tools to offer in every turn, first in the list."""
    keep: int = 32
    """Maximum number of tools to offer, including those of earlier turns."""
    mode: OrderMode = "recent"
    """What a turn may change of the list, as in `UserContext`."""
    defer: bool = False
    """Whether the model can search the other tools (see `SearchStrategy`); else they are left out."""
    retriever: ToolRetriever | None = None
    """Search with this retriever; without one, new tools are indexed on first use."""
    naming: Naming = plain_name
    """Maps the retriever's tools to their names in the toolset."""
    embedder: Embedder | None = None
    min_fit: float | None = None
    """A prompt whose `fits` is lower adds no tool."""
    finder: ToolFinder = field(default=cast("ToolFinder", None), repr=False, compare=False)
    """Built from the above; a field, so that the copies made for each run share its indexes."""

    def __post_init__(self) -> None:
        """Raise for invalid settings before the first run."""
        StableOrder(self.k, self.keep, self.always, mode=self.mode)
        self.finder = self.finder or ToolFinder(
            self.retriever, naming=self.naming, embedder=self.embedder, min_fit=self.min_fit
        )

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The tools for this run, in stable order."""
        tools = await super().get_tools(ctx)
        if missing := [name for name in self.always if name not in tools]:
            raise InvalidRequestError(f"always: no such tool: {missing[0]!r}")
        candidates = [as_tool(tool.tool_def) for tool in tools.values() if not tool.tool_def.defer_loading]
        conversation: Conversation = [*_conversation(ctx.messages)]
        if len(candidates) <= self.k or not any(isinstance(turn, UserTurn) for turn in conversation):
            return tools  # too few tools to choose from, or no text to search with
        order = StableOrder(self.k, self.keep, self.always, mode=self.mode)
        names = await to_thread.run_sync(
            self.finder.for_conversation, candidates, conversation, order, self.k
        )
        selected = {name: tools[name] for name in names}
        rest = {name: tool for name, tool in tools.items() if name not in selected}
        if not self.defer:
            return selected | {name: tool for name, tool in rest.items() if tool.tool_def.defer_loading}
        return selected | {
            name: replace(tool, tool_def=replace(tool.tool_def, defer_loading=True))
            for name, tool in rest.items()
        }


def _insert_prompts(messages: Sequence[ModelMessage], prompts: Sequence[str]) -> list[ModelMessage]:
    """Copies of the messages, with a text before each prompt of the user."""
    texts = iter(prompts)
    inserted: list[ModelMessage] = []
    for message in messages:
        if not isinstance(message, ModelRequest):
            inserted.append(message)
            continue
        parts: list[ModelRequestPart] = []
        for part in message.parts:
            if isinstance(part, UserPromptPart) and _text(part.content) and (text := next(texts, "")):
                # the time of the prompt, so that the message is the same in every turn
                parts.append(UserPromptPart(text, timestamp=part.timestamp))
            parts.append(part)
        inserted.append(replace(message, parts=parts))
    return inserted


def _conversation(messages: Sequence[ModelMessage]) -> Iterator[UserTurn | ToolCallTurn | AssistantTurn]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart) and (text := _text(part.content)):
                yield UserTurn(text)
            elif isinstance(part, TextPart):
                yield AssistantTurn(part.content)
            elif isinstance(part, ToolCallPart):
                yield ToolCallTurn(part.tool_name)


def _text(content: object) -> str:
    """The text of a prompt, without images and files."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, Sequence):
        return ""
    parts = [
        part if isinstance(part, str) else getattr(part, "content", "")
        for part in cast("Sequence[object]", content)
    ]
    return " ".join(part for part in parts if isinstance(part, str)).strip()
