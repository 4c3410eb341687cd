"""An MCP server over HTTP that can lose its sessions, as after a restart."""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar


class Forgetful(BaseHTTPRequestHandler):
    """Protocol 2025-11-25; clear `sessions` to lose them."""

    sessions: ClassVar[set[str]] = set()
    called: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session, method = self.headers.get("mcp-session-id"), request["method"]
        if session and session not in self.sessions:
            return self.reply(404, {})
        if method == "initialize":
            self.sessions.add(new := f"session-{time.monotonic_ns()}")
            info = {"name": "forgetful", "version": "1"}
            result: dict[str, Any] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            return self.reply(200, {"result": result}, request, {"mcp-session-id": new})
        if not session:
            return self.reply(200, {"error": {"code": -32601, "message": "Method not found"}}, request)
        if method == "tools/list":
            tool = {"name": "note", "description": "Note it.", "inputSchema": {"type": "object"}}
            return self.reply(200, {"result": {"tools": [tool]}}, request)
        if method == "tools/call":
            self.called.append(session)
            return self.reply(200, {"result": {"content": [{"type": "text", "text": "noted"}]}}, request)
        return self.reply(202 if "id" not in request else 200, {"result": {}}, request)

    def do_GET(self) -> None:
        self.reply(405, {})

    def do_DELETE(self) -> None:
        self.reply(200, {})

    def reply(
        self, status: int, body: dict[str, Any], request: dict[str, Any] | None = None, headers: Any = ()
    ) -> None:
        content = json.dumps({"jsonrpc": "2.0", "id": request.get("id"), **body}).encode() if request else b""
        self.send_response(status)
        for name, value in {"content-type": "application/json", **dict(headers)}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as in the base class
        """No log."""


@contextmanager
def forgetful() -> Generator[int]:
    """Run the server; its port."""
    Forgetful.called.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as web:
        Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield web.server_port
        web.shutdown()
