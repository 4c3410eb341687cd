"""OpenAI Agents SDK: an agent with the user's items, relevant tools and feedback."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from contextune.errors import MissingExtraError
from contextune.integrations._finder import AssistantTurn, Conversation, ToolCallTurn, UserTurn
from contextune.integrations._tool_schemas import get_field
from contextune.integrations.user_context import ContextTurn, UserContext
from contextune.types import Tool

try:
    from agents import Agent, AgentHooks, FunctionTool, RunContextWrapper
    from agents import Tool as AgentTool
except ModuleNotFoundError as error:
    raise MissingExtraError("the integration of the OpenAI Agents SDK", "openai-agents") from error

_RunContext = TypeVar("_RunContext")


def as_tool(tool: FunctionTool) -> Tool:
    """Convert a function tool."""
    return Tool(tool.name, tool.description, parameters=tool.params_json_schema)


@dataclass
class UserContextAgent(Agent[_RunContext]):
    """An `Agent` whose instructions end with the user's items, with relevant tools and feedback.

    A function given to `UserContext` as `user` or `place` gets the `RunContextWrapper`. Function tools and
    tools of MCP servers are selected; hosted tools and handoffs stay. A tool call that returns is recorded as
    right.
    """

    user_context: UserContext = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.hooks, _UserContextHooks):  # a clone has them already
            self.hooks = cast("Any", _UserContextHooks(self.user_context, cast("Any", self.hooks)))

    async def get_system_prompt(self, run_context: RunContextWrapper[_RunContext]) -> str | None:
        """The instructions, followed by the user's items."""
        instructions = await super().get_system_prompt(run_context)
        turn = await _turn(self.user_context, run_context)
        parts = [instructions, turn.prompt if turn else None]
        return "\n\n".join(part for part in parts if part) or None

    async def get_all_tools(self, run_context: RunContextWrapper[_RunContext]) -> list[AgentTool]:
        """The tools relevant to the conversation, in stable order, and all hosted tools."""
        tools = await super().get_all_tools(run_context)
        turn = await _turn(self.user_context, run_context)
        if turn is None:
            return tools
        own = {tool.name: tool for tool in tools if isinstance(tool, FunctionTool)}
        conversation = _conversation(run_context.turn_input)
        names = await self.user_context.aselect_tools([*map(as_tool, own.values())], conversation, turn)
        hosted = [tool for tool in tools if not isinstance(tool, FunctionTool)]
        return [*hosted, *(own[name] for name in names)]


class _UserContextHooks(AgentHooks[Any]):
    """Starts a turn, records tool calls, and calls the agent's other hooks."""

    def __init__(self, context: UserContext, others: AgentHooks[Any] | None) -> None:
        self._context = context
        self._others = others or AgentHooks[Any]()

    async def on_start(self, context: Any, agent: Any) -> None:
        await self._context.aturn(_conversation(context.turn_input), context, restart=True)
        await self._others.on_start(context, agent)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        turn = await _turn(self._context, context)
        arguments = getattr(context, "tool_arguments", None)  # only function tools have them
        if turn and arguments is not None:
            await self._context.arecord_call(turn, tool.name, _arguments(arguments))
        await self._others.on_tool_end(context, agent, tool, result)

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        await self._others.on_end(context, agent, output)

    async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
        await self._others.on_handoff(context, agent, source)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        await self._others.on_tool_start(context, agent, tool)

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        await self._others.on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        await self._others.on_llm_end(context, agent, response)


async def _turn(context: UserContext, run: RunContextWrapper[Any]) -> ContextTurn | None:
    """The turn that `on_start` began; the SDK gives the same input to all model calls of a run."""
    return await context.aturn(_conversation(run.turn_input), run, restart=False)


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}


def _conversation(items: Sequence[object]) -> Conversation:
    return [*_turns(items)]


def _turns(items: Sequence[object]) -> Iterator[UserTurn | ToolCallTurn | AssistantTurn]:
    for item in items:
        role, text = get_field(item, "role"), _text(get_field(item, "content"))
        if get_field(item, "type") == "function_call":
            yield ToolCallTurn(str(get_field(item, "name")))
        elif role == "user" and text:
            yield UserTurn(text)
        elif role == "assistant" and text:
            yield AssistantTurn(text)


def _text(content: object) -> str:
    """The text of a message, without images and files."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, Sequence):
        return ""
    parts = [get_field(part, "text") for part in cast("Sequence[object]", content)]
    return " ".join(part for part in parts if isinstance(part, str)).strip()
