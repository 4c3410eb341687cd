"""A minimal MCP server without the SDK, which starts fast, with any number of tools.

python gateway_plain.py NAME COUNT FOLDER

It speaks protocol version 2025-11-25 over stdio, and appends its process id to FOLDER/NAME.starts.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

VERBS = ("water", "prune", "photograph", "paint", "measure", "sell", "move", "insure", "clean", "count")
THINGS = ("ficus", "orchid", "bicycle", "violin", "teapot", "carpet", "lantern", "canoe", "clock", "mirror")


def tool(name: str, description: str, *takes: str, **more: Any) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in takes}
    schema = {"type": "object", "properties": properties, "required": list(takes)}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def generated_tool(number: int) -> dict[str, Any]:
    verb, thing, hall = VERBS[number % 10], THINGS[number // 10 % 10], number // 100
    where = f" in hall {hall}" if hall else ""
    return tool(f"{verb}_{thing}{f'_{hall}' if hall else ''}", f"{verb.title()} the {thing}{where}.", "how")


def tool_list(count: int) -> list[dict[str, Any]]:
    say = tool("say", "Repeat a greeting.", "text", title="Say it — 你好", annotations={"readOnlyHint": True})
    return [say, tool("die", "End this server."), tool("fail", "Report a failure.")] + [
        generated_tool(number) for number in range(count)
    ]


def note_start(name: str, folder: Path) -> None:
    with (folder / f"{name}.starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")


def answer(name: str, count: int, request: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = request.get("params") or {}
    match request["method"]:
        case "initialize":
            info = {"name": name, "version": "1"}
            return {
                "result": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": info,
                }
            }
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": tool_list(count)}}
        case "tools/call":
            if params["name"] == "die":
                os._exit(3)
            text = params["arguments"].get("text", params["name"])
            content = [{"type": "text", "text": f"{name}: {text}"}]
            failed = params["name"] == "fail"
            structured = {"said": text, "by": os.getpid()}
            return {"result": {"content": content, "isError": failed, "structuredContent": structured}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def serve(name: str, count: int, folder: Path) -> None:
    note_start(name, folder)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            response = {"jsonrpc": "2.0", "id": request["id"], **answer(name, count, request)}
            sys.stdout.write(f"{json.dumps(response)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
