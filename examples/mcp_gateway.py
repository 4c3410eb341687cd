"""MCP gateway: two servers behind one; the client sees two tools, searches and calls."""
# ruff: noqa: T201

import asyncio
import sys
from typing import Any, cast

from desk import FUNCTIONS
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitRequestParams, ElicitResult, TextContent

from contextune.serve.mcp.gateway import Gateway
from contextune.serve.mcp.server import mcp_server

# the content of an mcp.json; this file is also both servers
SERVERS = {
    "mcpServers": {
        "office": {"command": sys.executable, "args": [__file__, "office"]},
        "helpdesk": {"command": sys.executable, "args": [__file__, "helpdesk"]},
    }
}


def serve(name: str) -> None:
    """Serve one half of the tools."""
    server = MCPServer(name, log_level="ERROR")
    for function in FUNCTIONS[:6] if name == "office" else FUNCTIONS[6:]:
        server.tool(structured_output=False)(function)
    server.run("stdio")


async def confirm(context: object, params: ElicitRequestParams) -> ElicitResult:
    """Answer the gateway's question before a call; a real client shows it to its user."""
    del context
    print("asked:", params.message)
    return ElicitResult(action="accept")


async def search(client: Client, query: str) -> list[dict[str, Any]]:
    """The two best tools of the servers that have started."""
    result = await client.call_tool("search_tools", {"query": query, "k": 2})
    return cast("dict[str, Any]", result.structured_content)["tools"]


async def main() -> None:
    """List, search and call through the gateway."""
    async with Client(mcp_server(gateway=Gateway(SERVERS)), elicitation_callback=confirm) as client:
        print("listed:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        tools = await search(client, "I cannot log in any more")
        while not any(tool["name"].startswith("helpdesk/") for tool in tools):
            await asyncio.sleep(0.5)  # servers start in the background
            tools = await search(client, "I cannot log in any more")
        print("found:", ", ".join(tool["name"] for tool in tools))
        result = await client.call_tool("call_tool", {"name": tools[0]["name"], "arguments": {"user": "rui"}})
        print("called:", *(block.text for block in result.content if isinstance(block, TextContent)))


if sys.argv[1:] in (["office"], ["helpdesk"]):
    serve(sys.argv[1])
else:
    asyncio.run(main())
