"""An MCP server on the official SDK, with tools that hang, report progress, fail, or end the process.

python gateway_server.py NAME COUNT FOLDER
python gateway_server.py NAME COUNT FOLDER PORT

It writes files to FOLDER for each start, each hanging call and each cancelled call.
"""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from gateway_plain import note_start, tool, tool_list
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

NAME, COUNT, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
bus = InMemorySubscriptionBus()
tools = [
    types.Tool.model_validate(definition)
    for definition in (
        *tool_list(COUNT),
        tool("burn", "Burn the archive.", annotations={"destructiveHint": True}),
        tool("wait", "Never answer."),
        tool("stroll", "Report progress four times."),
        tool("turn_down", "Answer with a protocol error."),
        tool("grow", "Add the tool that peels potatoes."),
    )
]


async def list_tools(
    context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=tools)


async def call_tool(
    context: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    match params.name:
        case "say":
            text = (params.arguments or {})["text"]
            return types.CallToolResult(
                content=[
                    types.TextContent(type="text", text=f"{NAME}: {text}"),
                    types.ImageContent(type="image", data="AAAA", mime_type="image/png"),
                ],
                structured_content={"said": text, "by": os.getpid()},
                _meta={"example.org/mark": NAME},
            )
        case "die":
            os._exit(3)
        case "wait":
            try:
                (FOLDER / f"{NAME}.waiting").touch()
                await anyio.sleep_forever()
            finally:
                (FOLDER / f"{NAME}.cancelled").touch()
        case "stroll":
            for step in range(4):
                await context.session.report_progress(step, 4, f"step {step}")
        case "fail":
            text = types.TextContent(type="text", text="the archive is closed")
            return types.CallToolResult(content=[text], is_error=True)
        case "turn_down":
            raise ValueError("no")
        case "grow":
            tools.append(types.Tool.model_validate(tool("peel_potatoes", "Peel the potatoes for dinner.")))
            await bus.publish(ToolsListChanged())
        case _:
            pass
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"{NAME}: {params.name}")])


server = Server(
    NAME,
    version="1",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_subscriptions_listen=ListenHandler(bus),
)


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    note_start(NAME, FOLDER)
    if len(sys.argv) > 4:
        uvicorn.run(server.streamable_http_app(), port=int(sys.argv[4]), log_level="critical")
    else:
        anyio.run(over_stdio)
