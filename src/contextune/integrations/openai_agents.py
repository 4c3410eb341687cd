"""OpenAI Agents SDK: an agent with the user's items, relevant tools and feedback."""

import json
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from contextune.errors import MissingExtraError
from contextune.integrations._chat_messages import is_user_message, read_messages
from contextune.integrations.shortlist import insert_prompts
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
    """An `Agent` that gets the user's items before each message, relevant tools, and feedback.

    The items are added to the model's input only; instructions and session stay as they are. A function
    given to `UserContext` as `user` or `place` gets the `RunContextWrapper`. Function tools and tools of MCP
    servers are selected; hosted tools and handoffs stay. A tool call that returns is recorded as right.
    """

    user_context: UserContext = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.hooks, _UserContextHooks):  # a clone has them already
            self.hooks = cast("Any", _UserContextHooks(self.user_context, cast("Any", self.hooks)))

    async def get_all_tools(self, run_context: RunContextWrapper[_RunContext]) -> list[AgentTool]:
        """The tools relevant to the conversation, in stable order, and all hosted tools."""
        tools = await super().get_all_tools(run_context)
        turn = await _turn(self.user_context, run_context)
        if turn is None:
            return tools
        own = {tool.name: tool for tool in tools if isinstance(tool, FunctionTool)}
        conversation = read_messages(run_context.turn_input)
        names = await self.user_context.aselect_tools([*map(as_tool, own.values())], conversation, turn)
        hosted = [tool for tool in tools if not isinstance(tool, FunctionTool)]
        return [*hosted, *(own[name] for name in names)]


class _UserContextHooks(AgentHooks[Any]):
    """Starts a turn, records tool calls, and calls the agent's other hooks."""

    def __init__(self, context: UserContext, others: AgentHooks[Any] | None) -> None:
        self._context = context
        self._others = others or AgentHooks[Any]()

    async def on_start(self, context: Any, agent: Any) -> None:
        await self._context.aturn(read_messages(context.turn_input), context, restart=True)
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
        turn = await _turn(self._context, context)
        if turn:
            # the SDK sends this list to the model; the session and the run keep their own
            conversation = read_messages(input_items)
            input_items[:] = insert_prompts(
                input_items, self._context.prompts(conversation, turn), is_user_message, _user_message
            )

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        await self._others.on_llm_end(context, agent, response)


async def _turn(context: UserContext, run: RunContextWrapper[Any]) -> ContextTurn | None:
    """The turn that `on_start` began; the SDK gives the same input to all model calls of a run."""
    return await context.aturn(read_messages(run.turn_input), run, restart=False)


def _user_message(text: str) -> Any:
    return {"role": "user", "content": text}


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
