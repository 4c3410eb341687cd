"""A server's message over the size limit ends its connection, and takes no memory."""

import asyncio
import json
import sys
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.serve.mcp.gateway_talk import SCRIPTED_SERVER, is_alive, script_tools, scripted_tool
from tests.serve.waiting import PATIENCE
from tests.tools.servers.forgetful import Forgetful

from contextune.plan.execution.runners import McpRunner
from contextune.tools.loaders import McpServer, load_mcp
from contextune.tools.mcp import connection, stdio
from contextune.tools.mcp.errors import MessageTooLongError
from contextune.types import Tool

LIMIT = 2**20
FLOOD = 64 * 2**20


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_MESSAGE", LIMIT)


@contextmanager
def small_memory() -> Generator[None]:
    """Fail if the block needs memory for the flood."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < FLOOD // 2
    finally:
        tracemalloc.stop()


def scripted(folder: Path, *tools: dict[str, Any]) -> McpServer:
    script_tools(folder, "a", *tools)
    return McpServer("a", command=sys.executable, args=(str(SCRIPTED_SERVER), "a", str(folder)))


def test_endless_line_ends_the_connection(tmp_path: Path) -> None:
    server = scripted(tmp_path, scripted_tool("flood", inputSchema={"type": "object"}), scripted_tool("say"))
    flood, say = load_mcp(server).tools
    with McpRunner(server) as runner:
        with small_memory():
            result = runner.call(flood, {"bytes": FLOOD})
        assert result.failure == (
            "the server 'a' sent a message of more than 1 MB, and was disconnected:"
            " the call may or may not have taken effect"
        )
        assert runner.call(say, {}).value == "a: say"  # on a new connection


def test_oversized_listing_costs_only_its_server(tmp_path: Path) -> None:
    big = scripted(tmp_path, scripted_tool("big", "x" * (LIMIT + 1)))
    loaded = load_mcp(big)
    assert loaded.tools == ()
    assert [(tool.name, tool.reason) for tool in loaded.refused] == [
        ("a", "sent a message of more than 1 MB, and was disconnected")
    ]


def test_message_below_the_limit_arrives(tmp_path: Path) -> None:
    server = scripted(tmp_path, scripted_tool("long", "x" * 90_000), scripted_tool("short"))
    assert [len(tool.description) for tool in load_mcp(server).tools] == [90_000, len("Does short.")]


def test_listing_as_a_whole_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = scripted(tmp_path, *(scripted_tool(f"tool_{number}") for number in range(50)))
    assert len(load_mcp(server).tools) == 50
    monkeypatch.setattr(connection, "_MAX_TOOLS", 40)
    (refused,) = load_mcp(server).refused
    assert refused.reason == "lists too many tools: at most 40, in 64 MB"


class Flooding(Forgetful):
    """Answers calls with a long JSON body."""

    def reply(
        self, status: int, body: dict[str, Any], request: dict[str, Any] | None = None, headers: Any = ()
    ) -> None:
        if not request or request["method"] != "tools/call":
            return super().reply(status, body, request, headers)
        start = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}})[:-1].encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(start) + FLOOD + 1))
        self.end_headers()
        try:
            self.wfile.write(start)
            for _ in range(FLOOD // 65_536):
                self.wfile.write(b" " * 65_536)
            self.wfile.write(b"}")
        except OSError:  # the client hung up
            self.close_connection = True


def test_endless_body_ends_the_connection() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Flooding) as web:
        Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        runner = McpRunner(f"http://127.0.0.1:{web.server_port}/mcp", app="web")
        with small_memory():
            result = runner.call(Tool("note", "Note it.", "web", {"type": "object"}), {})
        web.shutdown()
    assert "sent a message of more than 1 MB, and was disconnected" in result.failure


def test_server_that_floods_unasked_is_stopped(tmp_path: Path) -> None:
    server = scripted(tmp_path, scripted_tool("flood", inputSchema={"type": "object"}))

    async def flood() -> None:
        async with connection.connect(server, PATIENCE) as connected:
            with pytest.raises(MessageTooLongError, match="more than 1 MB"):
                await connected.call("flood", {"bytes": 10**12})
            pid = int((tmp_path / "a.pid").read_text())
            async with asyncio.timeout(PATIENCE):
                while is_alive(pid):  # before the connection is closed
                    await asyncio.sleep(0.02)

    asyncio.run(flood())
