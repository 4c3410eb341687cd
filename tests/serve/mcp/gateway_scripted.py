"""A minimal MCP server without the SDK, whose tools are read from a file at each listing.

python gateway_scripted.py NAME FOLDER

FOLDER/NAME.json has the tools. A call is appended to FOLDER/NAME.calls. Three tools do more than that:
`refresh` announces a new list of tools, `flood` writes as many bytes in one line as its argument says, and
`down` ends the process, which does not start again while FOLDER/NAME.down exists.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

NAME, FOLDER = sys.argv[1], Path(sys.argv[2])


def write(message: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps({'jsonrpc': '2.0', **message})}\n")
    sys.stdout.flush()


def flood(count: int) -> None:
    chunk = "x" * 65_536
    for _ in range(count // len(chunk)):
        sys.stdout.write(chunk)
    sys.stdout.flush()


def call(params: dict[str, Any]) -> dict[str, Any]:
    name: str = params["name"]
    arguments: dict[str, Any] = params.get("arguments") or {}
    with (FOLDER / f"{NAME}.calls").open("a") as calls:
        calls.write(f"{json.dumps([name, arguments])}\n")
    match name:
        case "refresh":
            write({"method": "notifications/tools/list_changed"})
        case "flood":
            flood(arguments["bytes"])
        case "down":
            (FOLDER / f"{NAME}.down").touch()
            os._exit(3)
        case _:
            pass
    return {"result": {"content": [{"type": "text", "text": f"{NAME}: {name}"}]}}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            info = {"name": NAME, "version": "1"}
            capabilities: dict[str, Any] = {"tools": {"listChanged": True}}
            version = "2025-11-25"
            return {"result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}}
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": json.loads((FOLDER / f"{NAME}.json").read_text())}}
        case "tools/call":
            return call(request["params"])
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


if __name__ == "__main__":
    if (FOLDER / f"{NAME}.down").exists():
        sys.exit(3)
    (FOLDER / f"{NAME}.pid").write_text(str(os.getpid()))
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            write({"id": request["id"], **answer(request)})
