"""An MCP server over HTTP that can be made to forget who is connected, as by a restart."""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar


class Forgetful(BaseHTTPRequestHandler):
    """A server of 2025-11-25 over HTTP, whose sessions are gone when it is told to forget them."""

    sessions: ClassVar[set[str]] = set()
    called: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session, method = self.headers.get("mcp-session-id"), asked["method"]
        if session and session not in self.sessions:
            return self.reply(404, {})
        if method == "initialize":
            self.sessions.add(made := f"session-{time.monotonic_ns()}")
            info = {"name": "forgetful", "version": "1"}
            can: dict[str, Any] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            return self.reply(200, {"result": can}, asked, {"mcp-session-id": made})
        if not session:
            return self.reply(200, {"error": {"code": -32601, "message": "Method not found"}}, asked)
        if method == "tools/list":
            tool = {"name": "note", "description": "Note it.", "inputSchema": {"type": "object"}}
            return self.reply(200, {"result": {"tools": [tool]}}, asked)
        if method == "tools/call":
            self.called.append(session)
            return self.reply(200, {"result": {"content": [{"type": "text", "text": "noted"}]}}, asked)
        return self.reply(202 if "id" not in asked else 200, {"result": {}}, asked)

    def do_GET(self) -> None:
        self.reply(405, {})

    def do_DELETE(self) -> None:
        self.reply(200, {})

    def reply(
        self, status: int, body: dict[str, Any], asked: dict[str, Any] | None = None, headers: Any = ()
    ) -> None:
        said = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), **body}).encode() if asked else b""
        self.send_response(status)
        for name, value in {"content-type": "application/json", **dict(headers)}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it
        """Say nothing."""


@contextmanager
def forgetful() -> Generator[int]:
    """Run one, and give its port."""
    Forgetful.called.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as web:
        Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield web.server_port
        web.shutdown()
