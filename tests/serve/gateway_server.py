"""An MCP server with as many tools as wanted, and some that die, never answer, or take their time.

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
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

NAME, COUNT, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
VERBS = ("water", "prune", "photograph", "paint", "measure", "sell", "move", "insure", "clean", "count")
THINGS = ("ficus", "orchid", "bicycle", "violin", "teapot", "carpet", "lantern", "canoe", "clock", "mirror")
bus = InMemorySubscriptionBus()


def tool(name: str, description: str, properties: dict[str, Any] | None = None, **more: Any) -> types.Tool:
    schema = {"type": "object", "properties": properties or {}, "required": sorted(properties or {})}
    return types.Tool(name=name, description=description, input_schema=schema, **more)


def generated(number: int) -> types.Tool:
    verb, thing = VERBS[number % 10], THINGS[number // 10 % 10]
    where = f" in hall {number // 100}" if number >= 100 else ""
    name = f"{verb}_{thing}" + (f"_{number // 100}" if number >= 100 else "")
    return tool(name, f"{verb.title()} the {thing}{where}.", {"how": {"type": "string"}})


tools = [
    tool(
        "say",
        "Repeat a greeting.",
        {"text": {"type": "string"}},
        title="Say it — 你好",
        annotations=types.ToolAnnotations(read_only_hint=True),
    ),
    tool("burn", "Burn the archive.", annotations=types.ToolAnnotations(destructive_hint=True)),
    tool("die", "End this server."),
    tool("wait", "Never answer."),
    tool("stroll", "Walk slowly to the gate."),
    tool("fail", "Report a failure."),
    tool("turn_down", "Answer with an error of the protocol."),
    tool("grow", "Add the tool that peels potatoes."),
    *map(generated, range(COUNT)),
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
                await anyio.sleep(0.25)
        case "fail":
            text = types.TextContent(type="text", text="the archive is closed")
            return types.CallToolResult(content=[text], is_error=True)
        case "turn_down":
            raise ValueError("no")
        case "grow":
            tools.append(tool("peel_potatoes", "Peel the potatoes for dinner."))
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
    with (FOLDER / f"{NAME}.starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    if len(sys.argv) > 4:
        uvicorn.run(server.streamable_http_app(), port=int(sys.argv[4]), log_level="critical")
    else:
        anyio.run(over_stdio)
