"""FastMCP: a server with context, tool search and feedback, and a client as a model would use it."""
# ruff: noqa: T201

import asyncio
from typing import Any, cast

from desk import FUNCTIONS
from desk_user import REQUEST, learned, user_context
from fastmcp import Client, FastMCP
from scripted_model import answer_mail

from contextune.integrations.fastmcp import add_user_context

server: FastMCP[Any] = FastMCP("desk")
for function in FUNCTIONS:
    server.tool(function)
context = user_context()
add_user_context(server, context, search=True)


async def main() -> None:
    """Find context and tools, and call one."""
    async with Client(server) as client:
        print("listed:", ", ".join(tool.name for tool in await client.list_tools()))
        items = await client.call_tool("find_context", {"message": REQUEST})
        result = await client.call_tool("search_tools", {"query": REQUEST})
        tools = cast("dict[str, Any]", result.structured_content)["result"]
        call = answer_mail(items.data, [tool["name"] for tool in tools])
        result = await client.call_tool("call_tool", {"name": call.name, "arguments": call.arguments})
        print(result.data)
    print("learned:", learned(context))

    context.correct(REQUEST, rejected=["taxi"])  # the user says which item was not meant
    print("learned:", learned(context))


asyncio.run(main())
