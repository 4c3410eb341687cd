"""A FastMCP server that is searched by Contextune, and a client."""
# ruff: noqa: T201

import asyncio
from typing import Any, cast

from desk import FUNCTIONS
from fastmcp import Client, FastMCP

from contextune.integrations.fastmcp import ContextuneSearchTransform

server: FastMCP[Any] = FastMCP("desk")
for function in FUNCTIONS:
    server.tool(function)
server.add_transform(ContextuneSearchTransform(max_results=2))


async def main() -> None:
    """What a client sees, finds and calls."""
    async with Client(server) as client:
        print("listed:", ", ".join(tool.name for tool in await client.list_tools()))
        found = await client.call_tool("search_tools", {"query": "I cannot log in any more"})
        tools = cast("dict[str, Any]", found.structured_content)["result"]
        print("found:", ", ".join(tool["name"] for tool in tools))
        done = await client.call_tool("call_tool", {"name": "reset_password", "arguments": {"user": "rui"}})
        print("called:", done.data)


asyncio.run(main())
