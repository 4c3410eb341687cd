"""Helpers for gateway tests: upstream servers, a client, and waiting for conditions."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent
from tests.paths import MCP_SERVERS
from tests.serve.waiting import PATIENCE

from contextune.plan import Policy
from contextune.plan.policy import Cost
from contextune.serve.mcp import gateway as gateway_module
from contextune.serve.mcp import upstream
from contextune.serve.mcp.gateway import Gateway
from contextune.serve.mcp.server import mcp_server

SDK_SERVER = Path(__file__).with_name("gateway_server.py")
PLAIN_SERVER = Path(__file__).with_name("gateway_plain.py")
SCRIPTED_SERVER = Path(__file__).with_name("gateway_scripted.py")
BAD_SERVER = MCP_SERVERS / "plain.py"


def server_entry(folder: Path, name: str, count: int = 0, script: Path = SDK_SERVER) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(script), name, str(count), str(folder)]}


def plain_entry(folder: Path, name: str, count: int = 0) -> dict[str, Any]:
    return server_entry(folder, name, count, PLAIN_SERVER)


def scripted_tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": schema, **more}


def scripted_entry(folder: Path, name: str, *tools: dict[str, Any]) -> dict[str, Any]:
    """A server with these tools; write its file again to change them."""
    script_tools(folder, name, *tools)
    return {"command": sys.executable, "args": [str(SCRIPTED_SERVER), name, str(folder)]}


def script_tools(folder: Path, name: str, *tools: dict[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps(tools))


def received_calls(folder: Path, name: str) -> list[tuple[str, dict[str, Any]]]:
    file = folder / f"{name}.calls"
    return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def mcp_json(**servers: dict[str, Any]) -> dict[str, Any]:
    return {"mcpServers": servers}


def make_gateway(
    source: str | Path | dict[str, Any], *, timeout: float = PATIENCE, **options: Any
) -> Gateway:
    """A gateway with patience for servers on a busy machine, whose writes need no confirmation by default."""
    servers: dict[str, Any] = source["mcpServers"] if isinstance(source, dict) else {}
    writes: dict[str, Cost] = {"send_mail": "write", "turn_down": "write"}
    options.setdefault("policy", Policy(trusted=frozenset([*servers, "127.0.0.1"]), costs=writes))
    return Gateway(source, timeout=timeout, **options)


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ping servers before each call, and wait for slow ones, however busy the machine is."""
    monkeypatch.setattr(upstream, "PING_AFTER", 0.0)
    monkeypatch.setattr(upstream, "_PING_TIMEOUT", PATIENCE)
    for limit in ("_GRACE", "_LISTING_TIMEOUT", "_APPROVAL_TIMEOUT"):
        monkeypatch.setattr(gateway_module, limit, PATIENCE)


@asynccontextmanager
async def connect(gateway: Gateway, user: str | None = None, **options: Any) -> AsyncGenerator[Client]:
    async with Client(mcp_server(user, gateway=gateway), **options) as client:
        yield client


async def search(client: Client, query: str, k: int = 5) -> dict[str, Any]:
    return await call_structured(client, "search_tools", {"query": query, "k": k})


async def call_structured(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool; the client itself validates the output against the schema."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text(result)
    assert json.loads(text(result)) == result.structured_content
    return result.structured_content


async def call(client: Client, name: str, **arguments: Any) -> CallToolResult:
    return await client.call_tool("call_tool", {"name": name, "arguments": arguments})


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def started_processes(folder: Path, name: str) -> list[int]:
    file = folder / f"{name}.starts"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def wait_for_file(file: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not file.exists():
            await asyncio.sleep(0.02)
