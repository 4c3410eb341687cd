"""An MCP server made with the official SDK: some of its tools never answer, take their time, or fail.

python gateway_server.py NAME COUNT FOLDER
python gateway_server.py NAME COUNT FOLDER PORT

FOLDER is where it notes each start, and each call that was cancelled.
"""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from gateway_plain import listed, note_start, tool
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

NAME, COUNT, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
bus = InMemorySubscriptionBus()
tools = [
    types.Tool.model_validate(one)
    for one in (
        *listed(COUNT),
        tool("burn", "Burn the archive.", annotations={"destructiveHint": True}),
        tool("wait", "Never answer."),
        tool("stroll", "Walk slowly to the gate."),
        tool("turn_down", "Answer with an error of the protocol."),
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
            said = (params.arguments or {})["text"]
            return types.CallToolResult(
                content=[
                    types.TextContent(type="text", text=f"{NAME}: {said}"),
                    types.ImageContent(type="image", data="AAAA", mime_type="image/png"),
                ],
                structured_content={"said": said, "by": os.getpid()},
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
                await anyio.sleep(0.5)
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
