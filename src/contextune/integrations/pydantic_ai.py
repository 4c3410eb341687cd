"""Pydantic AI: tool search by Contextune, and toolsets that offer only what the prompt calls for."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, cast

from contextune.embed import Embedder
from contextune.errors import InvalidRequestError, MissingExtraError
from contextune.integrations._finder import Naming, ToolCallTurn, ToolFinder, UserTurn, plain_name
from contextune.integrations._stable_order import StableOrder
from contextune.integrations._tool_schemas import annotations
from contextune.tools import ToolRetriever
from contextune.types import Tool

try:
    from anyio import to_thread
    from pydantic_ai.messages import ModelMessage, ToolCallPart, UserPromptPart
    from pydantic_ai.tools import AgentDepsT, RunContext, ToolDefinition
    from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
except ModuleNotFoundError as error:
    raise MissingExtraError("the Pydantic AI hook", "pydantic-ai") from error


def as_tool(definition: ToolDefinition) -> Tool:
    """One of Pydantic AI's tools, for a catalogue."""
    return Tool(
        definition.name,
        definition.description or "",
        parameters=definition.parameters_json_schema,
        annotations=annotations((definition.metadata or {}).get("annotations")),
    )


class SearchStrategy:
    """For `ToolSearch(strategy=…)`: what the model asks for is found by Contextune among deferred tools."""

    def __init__(
        self,
        retriever: ToolRetriever | None = None,
        *,
        k: int = 5,
        naming: Naming = plain_name,
        embedder: Embedder | None = None,
    ) -> None:
        """Without a retriever the agent's tools are indexed; `naming` says what it calls a retriever's."""
        self._finder = ToolFinder(retriever, naming=naming, embedder=embedder)
        self._k = k

    async def __call__(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # the signature is Pydantic AI's
        queries: Sequence[str],
        tools: Sequence[ToolDefinition],
    ) -> list[str]:
        """The names of the tools found, best first."""
        offered = [as_tool(tool) for tool in tools]
        return await to_thread.run_sync(self._finder.names, offered, queries, self._k)


@dataclass
class PrepareTools(WrapperToolset[AgentDepsT]):
    """A toolset of which a run sees only the tools that its prompt, and the talk before it, call for.

    They come in an order that is stable from turn to turn. Wrap all tools to choose among in one of
    these; tools that are deferred already stay as they are.
    """

    k: int = 8
    """How many are found for what the user says."""
    _: KW_ONLY
    always: Sequence[str] = ()
    """Offered in every turn, in front."""
    keep: int = 32
    """How many are offered at most, those of earlier turns included."""
    defer: bool = False
    """Whether the others are left for the model to search (see `SearchStrategy`), or not offered at all."""
    retriever: ToolRetriever | None = None
    """Knows the tools already; without one they are indexed when they are new."""
    naming: Naming = plain_name
    """What the tools of the retriever are called here."""
    embedder: Embedder | None = None
    finder: ToolFinder = field(default=cast("ToolFinder", None), repr=False, compare=False)
    """Made of the above; a field, so that copies made for a run share what was indexed."""

    def __post_init__(self) -> None:
        """Check what was given, before any run."""
        StableOrder(self.k, self.keep, self.always)
        self.finder = self.finder or ToolFinder(self.retriever, naming=self.naming, embedder=self.embedder)

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The tools for this run, in their places."""
        tools = await super().get_tools(ctx)
        if missing := [name for name in self.always if name not in tools]:
            raise InvalidRequestError(f"there is no tool {missing[0]!r} to offer always")
        open_ = [as_tool(tool.tool_def) for tool in tools.values() if not tool.tool_def.defer_loading]
        talk = [*_talk(ctx.messages)]
        if len(open_) <= self.k or not any(isinstance(step, UserTurn) for step in talk):
            return tools  # nothing to choose, or nothing to go by
        places = StableOrder(self.k, self.keep, self.always)
        names = await to_thread.run_sync(self.finder.for_talk, open_, talk, places, self.k)
        shown = {name: tools[name] for name in names}
        rest = {name: tool for name, tool in tools.items() if name not in shown}
        if not self.defer:
            return shown | {name: tool for name, tool in rest.items() if tool.tool_def.defer_loading}
        return shown | {
            name: replace(tool, tool_def=replace(tool.tool_def, defer_loading=True))
            for name, tool in rest.items()
        }


def _talk(messages: Sequence[ModelMessage]) -> Iterator[UserTurn | ToolCallTurn]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart) and (text := _text(part.content)):
                yield UserTurn(text)
            elif isinstance(part, ToolCallPart):
                yield ToolCallTurn(part.tool_name)


def _text(content: object) -> str:
    """The words of a prompt; pictures and files have none."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, Sequence):
        return ""
    parts = [
        part if isinstance(part, str) else getattr(part, "content", "")
        for part in cast("Sequence[object]", content)
    ]
    return " ".join(part for part in parts if isinstance(part, str)).strip()
