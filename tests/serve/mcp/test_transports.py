"""`contextune mcp` with the official client: over stdio, over HTTP with a token, and its errors."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.serve.mcp.gateway_talk import call_structured, mcp_json, plain_entry, text
from tests.serve.waiting import PATIENCE, free_port, wait_for_port
from typer.testing import CliRunner

from contextune import Tuner
from contextune._internal.assets import asset
from contextune.cli import app
from contextune.datasets import read_persona
from contextune.errors import ContextuneError, InvalidRequestError
from contextune.serve.mcp.http_transport import address, http_app, listen
from contextune.serve.mcp.lazy_tuner import LazyTuner
from contextune.serve.mcp.server import mcp_server
from contextune.store import SQLiteStore
from contextune.types import User

PROGRAM = Path(sys.executable).with_name("contextune")
TOKEN = "a-token-of-thirty-two-characters"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of user ines, and an mcp.json with one server."""
    folder = tmp_path_factory.mktemp("home")
    with SQLiteStore(folder / "me.db") as store:
        store.put_user(User("ines"))
        loaded = read_persona(asset("personas/a01.json"))
        store.put_items("ines", loaded.items[:3])
    (folder / "mcp.json").write_text(json.dumps(mcp_json(hall=plain_entry(folder, "hall", 3))))
    return folder


def program(home: Path, *more: str) -> list[str]:
    where = ["--store", str(home / "me.db"), "--user", "ines", "--catalog", str(home / "mcp.json")]
    cache = ["--shelf", str(home / "cache.db"), "--approvals", str(home / "approvals.db")]
    return ["mcp", *where, *cache, "--policy", "trust=hall", "--timeout", str(PATIENCE), *more]


def environment() -> dict[str, str]:
    return {**os.environ, "CONTEXTUNE_THREADS": "1"}


async def use_all_tools(client: Client) -> None:
    """Use all tools of a server with a user and a gateway."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["find_context", "plan", "feedback", "search_tools", "call_tool"]
    found = await call_structured(
        client, "find_context", {"text": "What was in that mail, naïve café — 你好?", "k": 2}
    )
    assert len(found["items"]) == 2
    none = await call_structured(client, "search_tools", {"query": "translate this contract into Portuguese"})
    assert "Probably none of the tools there are serves this" in none["note"]
    found = await call_structured(client, "search_tools", {"query": "the ficus needs water", "k": 3})
    assert found["tools"][0]["name"] == "hall/water_ficus"
    assert none["fits"] < found["fits"] <= 1
    assert "note" not in found
    wet = await client.call_tool("call_tool", {"name": "hall/water_ficus", "arguments": {"how": "olá 你好"}})
    assert text(wet) == "hall: water_ficus"


def test_over_stdio(home: Path) -> None:
    async def session() -> None:
        parameters = StdioServerParameters(
            command=str(PROGRAM), args=program(home), env=environment(), cwd=home
        )
        async with Client(stdio_client(parameters)) as client:
            await use_all_tools(client)

    asyncio.run(session())
    with SQLiteStore(home / "me.db") as store:
        kept = store.feedback("ines")[-1]
    assert (kept.request.text, kept.tool, kept.ok) == ("the ficus needs water", "hall/water_ficus", True)


@pytest.fixture
def url(home: Path) -> Iterator[str]:
    port = free_port()
    command = [PROGRAM, *program(home, "--http", "--port", str(port))]
    env = {**environment(), "CONTEXTUNE_MCP_TOKEN": TOKEN}
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    wait_for_port(port, process)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    output = process.communicate(timeout=PATIENCE)[1]
    assert f"http://127.0.0.1:{port}/mcp" in output
    assert TOKEN not in output
    assert process.returncode in (0, -15)


def test_over_http_needs_the_token(home: Path, url: str) -> None:
    async def session() -> None:
        for mode in ("auto", "legacy"):  # protocol versions 2026-07-28 and 2025-11-25
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE) as http,
                Client(streamable_http_client(url, http_client=http), mode=mode) as client,
            ):
                assert len((await client.list_tools()).tools) == 5
                said = await client.call_tool("call_tool", {"name": "say", "arguments": {"text": "olá 你好"}})
                assert text(said) == "hall: olá 你好"
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}):
                answer = await http.post(
                    url, headers=headers, json={"jsonrpc": "2.0", "method": "ping", "id": 1}
                )
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == "Bearer"
            for foreign in ({"Host": "evil.example.org"}, {"Origin": "http://evil.example.org"}):
                headers = {"Authorization": f"Bearer {TOKEN}", **foreign}
                ping = {"jsonrpc": "2.0", "method": "ping", "id": 1}
                answer = await http.post(url, headers=headers, json=ping)
                assert answer.status_code == 421

    asyncio.run(session())


def test_session_id_does_not_replace_the_token(store: SQLiteStore) -> None:
    server = mcp_server("ines", LazyTuner(lambda progress: Tuner(store, progress=progress)))
    app = http_app(server, TOKEN)
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("the body must not be read")

    async def send(message: Any) -> None:
        sent.append(message)

    for name in ("mcp-session-id", "cookie"):
        headers = [(b"host", b"localhost"), (name.encode(), TOKEN.encode())]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
        asyncio.run(app(scope, receive, send))  # pyright: ignore[reportArgumentType]
    assert [message["status"] for message in sent[::2]] == [401, 401]


def test_weak_token_is_an_error(store: SQLiteStore) -> None:
    server = mcp_server("ines", LazyTuner(lambda progress: Tuner(store, progress=progress)))
    for token in ("short", "with a space in the middle", "not-ascii-ação-não-serve"):
        with pytest.raises(InvalidRequestError, match="16 or more"):
            http_app(server, token)


def test_port_in_use_is_an_error() -> None:
    with listen("127.0.0.1", 0) as listener:
        with pytest.raises(ContextuneError, match="choose another --port"):
            listen("127.0.0.1", listener.getsockname()[1])
        assert address("127.0.0.1", listener) == f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    with pytest.raises(ContextuneError, match="choose another --port"):
        listen("127.0.0.1", 70_000)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "pass --user, --catalog, or both"),
        (("--user", "nobody"), "nobody"),
        (("--catalog", "none.json"), "there is no file 'none.json'"),
        (("--catalog", "me.db"), "me.db"),
        (("--user", "ines", "--tools", "none.db"), "there is no catalogue at 'none.db'"),
        (("--user", "ines", "--timeout", "0"), "give seconds above 0"),
    ],
)
def test_cli_errors(
    home: Path, options: tuple[str, ...], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    done = CliRunner().invoke(app, ["mcp", "--store", "me.db", *options])
    assert isinstance(done.exception, ContextuneError)  # printed as one line by the program
    assert reason in str(done.exception)
    assert done.stdout == ""  # stdout belongs to the client
