"""A minimal MCP server over stdio (protocol 2025-11-25), with faults chosen by its argument."""

import json
import os
import sys
from typing import Any

MODE = sys.argv[1]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}}
calls = 0


def tool(name: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}.", "inputSchema": SCHEMA, **more}


GOOD = [tool("one"), tool("two")]
BROKEN: list[Any] = [
    tool("good", app="another", about="from elsewhere", examples=["spoof"]),
    tool("a_list", inputSchema=[]),
    tool("an_array", inputSchema={"type": "array"}),
    tool("odd_properties", inputSchema={"type": "object", "properties": ["q"]}),
    tool("odd_type", inputSchema={"type": "object", "properties": {"q": {"type": "strin"}}}),
    tool(""),
    tool("good", description="Again."),
    {"name": "no_schema"},
    tool("odd_words", description=7),
    "words",
    tool("nothing_said", description=None, title=3, annotations="none"),
]


def page(cursor: str | None) -> dict[str, Any]:
    match MODE:
        case "broken":
            return {"tools": BROKEN}
        case "evil":
            text = {"type": "string", "pattern": "^(a+)+$"}
            schema = {"type": "object", "properties": {"number": text, "text": text}, "required": ["number"]}
            return {"tools": [tool("send_text", inputSchema=schema)]}
        case "circle":
            return {"tools": GOOD[:1], "nextCursor": "b" if cursor == "a" else "a"}
        case "odd-list":
            return {"tools": {"one": 1}}
        case "odd-answer":
            return {"nothing": True}
        case "environment":
            return {"tools": [tool(f"{key}_{os.environ.get(key, 'missing')}") for key in sys.argv[2:]]}
        case "changing":
            return {"tools": [tool(f"tool_{number}") for number in range(calls + 1)]}
        case _:
            return {"tools": GOOD}


def send(message: dict[str, Any]) -> None:
    write_line(json.dumps({"jsonrpc": "2.0", **message}))


def write_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def answer(request: dict[str, Any]) -> None:
    global calls
    number: Any = request["id"]
    params: dict[str, Any] = request.get("params") or {}
    match request["method"]:
        case "initialize":
            info = {"name": "plain", "version": "1"}
            capabilities: dict[str, Any] = {"tools": {"listChanged": True}}
            result: dict[str, Any] = {
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "serverInfo": info,
            }
            send({"id": number, "result": result})
        case "tools/list" if MODE == "silent":
            return
        case "tools/list" if MODE == "dying":
            sys.exit(3)
        case "tools/list" if MODE == "refusing":
            send({"id": number, "error": {"code": -32000, "message": "SECRET text of the server"}})
        case "tools/list" if MODE != "no-tools":
            send({"id": number, "result": page(params.get("cursor"))})
        case "tools/call":
            calls += 1
            send({"method": "notifications/tools/list_changed"})
            send({"id": number, "result": {"content": []}})
        case _:
            send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    if MODE == "dead":
        sys.exit("SECRET text of the server")
    if MODE == "noisy":
        write_line("SECRET words that are not JSON")
        sys.stderr.write("SECRET complaint\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            answer(message)
