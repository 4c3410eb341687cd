"""An MCP server with the official SDK: six tools on three pages; calling `grow` adds a seventh.

python real.py stdio
python real.py http PORT
"""

import sys
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

PAGE = 2
bus = InMemorySubscriptionBus()


def tool(name: str, description: str, **more: Any) -> types.Tool:
    schema = {"type": "object", "properties": {"id": {"type": "string", "description": "Which one."}}}
    return types.Tool(name=name, description=description, input_schema=schema, **more)


tools = [
    tool("list_kilns", "List the kilns.", annotations=types.ToolAnnotations(read_only_hint=True)),
    tool("fire_kiln", "Fire a kiln.", title="Fire it"),
    tool(
        "empty_kiln",
        "Empty a kiln.",
        annotations=types.ToolAnnotations(
            title="Empty it", destructive_hint=True, idempotent_hint=False, open_world_hint=False
        ),
    ),
    tool("glaze", "Look up a glaze."),
    tool("book", "Book an evening at the studio."),
    tool("grow", "Add a tool to this server."),
]


async def list_tools(
    context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    start = int(params.cursor) if params and params.cursor else 0
    end = start + PAGE
    return types.ListToolsResult(tools=tools[start:end], next_cursor=str(end) if end < len(tools) else None)


async def call_tool(
    context: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    if params.name == "grow":
        tools.append(tool("wedge", "Wedge the clay."))
        await bus.publish(ToolsListChanged())
        if "legacy" in sys.argv:
            await context.session.send_tool_list_changed()
    return types.CallToolResult(content=[types.TextContent(type="text", text="done")])


server = Server(
    "studio",
    version="1",
    instructions="Tools of a pottery studio. Ask before you fire.",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_subscriptions_listen=ListenHandler(bus),
)


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        anyio.run(over_stdio)
    else:
        uvicorn.run(server.streamable_http_app(), port=int(sys.argv[2]), log_level="critical")
