"""A FastMCP server with tool search by Contextune, and a client."""
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
    """List, search and call tools."""
    async with Client(server) as client:
        print("listed:", ", ".join(tool.name for tool in await client.list_tools()))
        result = await client.call_tool("search_tools", {"query": "I cannot log in any more"})
        tools = cast("dict[str, Any]", result.structured_content)["result"]
        print("found:", ", ".join(tool["name"] for tool in tools))
        result = await client.call_tool("call_tool", {"name": "reset_password", "arguments": {"user": "rui"}})
        print("called:", result.data)


asyncio.run(main())
