"""Claude Agent SDK: an assistant with context, tools and feedback, on a scripted transport."""
# ruff: noqa: T201
# pyright: basic, reportMissingImports=false

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query, tool
from desk import FUNCTIONS
from desk_user import REQUEST, learned, user_context
from scripted_claude import ScriptedClaude

from contextune.integrations.claude_agent import add_user_context


def sdk_tool(function: Callable[..., str]) -> Any:
    """A function as a tool of the SDK."""
    types = {name: value.annotation for name, value in inspect.signature(function).parameters.items()}

    async def call(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": function(**arguments)}]}

    return tool(function.__name__, inspect.getdoc(function) or "", types)(call)


async def main() -> None:
    """Run the assistant once."""
    context = user_context()
    tools = [sdk_tool(function) for function in FUNCTIONS]
    options = add_user_context(ClaudeAgentOptions(), context, tools=tools, server="desk")
    async for message in query(prompt=REQUEST, options=options, transport=ScriptedClaude("desk")):
        if isinstance(message, ResultMessage):
            print(message.result)
    print("learned:", learned(context))

    context.correct(REQUEST, rejected=["taxi"])  # the user says which item was not meant
    print("learned:", learned(context))


asyncio.run(main())
