"""An MCP server of a few lines that starts in no time, with as many tools as wanted.

python gateway_plain.py NAME COUNT FOLDER

It speaks the protocol of 2025-11-25 over stdio. FOLDER is where it notes each start.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

VERBS = ("water", "prune", "photograph", "paint", "measure", "sell", "move", "insure", "clean", "count")
THINGS = ("ficus", "orchid", "bicycle", "violin", "teapot", "carpet", "lantern", "canoe", "clock", "mirror")


def tool(name: str, description: str, *takes: str, **more: Any) -> dict[str, Any]:
    properties = {one: {"type": "string"} for one in takes}
    schema = {"type": "object", "properties": properties, "required": list(takes)}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def generated(number: int) -> dict[str, Any]:
    verb, thing, hall = VERBS[number % 10], THINGS[number // 10 % 10], number // 100
    where = f" in hall {hall}" if hall else ""
    return tool(f"{verb}_{thing}{f'_{hall}' if hall else ''}", f"{verb.title()} the {thing}{where}.", "how")


def listed(count: int) -> list[dict[str, Any]]:
    say = tool("say", "Repeat a greeting.", "text", title="Say it — 你好", annotations={"readOnlyHint": True})
    return [say, tool("die", "End this server."), tool("fail", "Report a failure.")] + [
        generated(number) for number in range(count)
    ]


def note_start(name: str, folder: Path) -> None:
    with (folder / f"{name}.starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")


def answer(name: str, count: int, asked: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = asked.get("params") or {}
    match asked["method"]:
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
            return {"result": {"tools": listed(count)}}
        case "tools/call":
            if params["name"] == "die":
                os._exit(3)
            said = params["arguments"].get("text", params["name"])
            content = [{"type": "text", "text": f"{name}: {said}"}]
            failed = params["name"] == "fail"
            made = {"said": said, "by": os.getpid()}
            return {"result": {"content": content, "isError": failed, "structuredContent": made}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def serve(name: str, count: int, folder: Path) -> None:
    note_start(name, folder)
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            given = {"jsonrpc": "2.0", "id": asked["id"], **answer(name, count, asked)}
            sys.stdout.write(f"{json.dumps(given)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
