"""What tests of the gateway share: servers to put behind it, and a client to talk to it with."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, TextContent
from tests.paths import MCP_SERVERS

from contextune.serve.mcp.gateway import Gateway
from contextune.serve.mcp.server import mcp_server

SERVER = Path(__file__).with_name("gateway_server.py")
QUICK = Path(__file__).with_name("gateway_plain.py")
PLAIN = MCP_SERVERS / "plain.py"


def entry(folder: Path, name: str, count: int = 0, script: Path = SERVER) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(script), name, str(count), str(folder)]}


def quick(folder: Path, name: str, count: int = 0) -> dict[str, Any]:
    return entry(folder, name, count, QUICK)


def catalog(**servers: dict[str, Any]) -> dict[str, Any]:
    return {"mcpServers": servers}


@asynccontextmanager
async def client_of(gateway: Gateway, user: str | None = None) -> AsyncGenerator[Client]:
    async with Client(mcp_server(user, gateway=gateway)) as client:
        yield client


async def search(client: Client, query: str, k: int = 5) -> dict[str, Any]:
    found = await client.call_tool("search_tools", {"query": query, "k": k})
    assert not found.is_error, found.content
    assert isinstance(found.content[0], TextContent)
    assert json.loads(found.content[0].text) == found.structured_content
    return found.structured_content


async def call(client: Client, name: str, **arguments: Any) -> CallToolResult:
    return await client.call_tool("call_tool", {"name": name, "arguments": arguments})


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def starts(folder: Path, name: str) -> list[int]:
    file = folder / f"{name}.starts"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def until(file: Path) -> None:
    async with asyncio.timeout(20):
        while not file.exists():
            await asyncio.sleep(0.02)
