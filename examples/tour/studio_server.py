"""A small MCP server over stdio, without an SDK: the kiln of a pottery studio."""

import json
import sys
from typing import Any

TOOLS: list[dict[str, Any]] = [
    {
        "name": "kiln_temperature",
        "description": "Read the current temperature of the kiln.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "book_wheel",
        "description": "Book a potter's wheel for a day.",
        "inputSchema": {
            "type": "object",
            "properties": {"day": {"type": "string", "format": "date"}},
            "required": ["day"],
        },
    },
]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The result of a request, or an error."""
    match request["method"]:
        case "initialize":
            return {
                "result": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "studio", "version": "1"},
                }
            }
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": TOOLS}}
        case "tools/call":
            degrees = "1,187 °C" if request["params"]["name"] == "kiln_temperature" else "booked"
            return {"result": {"content": [{"type": "text", "text": degrees}]}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message)}
            sys.stdout.write(f"{json.dumps(reply)}\n")
            sys.stdout.flush()
