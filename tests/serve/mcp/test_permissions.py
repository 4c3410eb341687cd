"""What the token of a request does not allow is not found."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from tests.serve.mcp.gateway_talk import (
    be_patient,
    call,
    call_structured,
    make_gateway,
    mcp_json,
    plain_entry,
    search,
    text,
)
from tests.serve.waiting import PATIENCE, free_port, wait_for_port
from typer.testing import CliRunner

from contextune.cli import app
from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.serve.mcp.permissions import EVERYTHING, ToolPermissions, read_permissions
from contextune.serve.mcp.server import mcp_server
from contextune.store import SQLiteStore
from contextune.types import User

PROGRAM = Path(sys.executable).with_name("contextune")
TOKENS = {"all-of-the-tools-and-data": ["*"], "one-hall-and-no-data-at-all": ["hall/water_*", "hall/say"]}
ALL, HALL = TOKENS


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A gateway over two servers with the same tools, with two tokens."""
    with SQLiteStore(tmp_path / "me.db") as store:
        store.put_user(User("ines"))
    servers = {name: plain_entry(tmp_path, name, 3) for name in ("hall", "yard")}
    (tmp_path / "mcp.json").write_text(json.dumps(mcp_json(**servers)))
    tokens = [
        {"sha256": sha256(token.encode()).hexdigest(), "tools": tools} for token, tools in TOKENS.items()
    ]
    (tmp_path / "tokens.json").write_text(json.dumps({"tokens": tokens}))
    port = free_port()
    options = {"store": "me.db", "catalog": "mcp.json", "tokens": "tokens.json", "shelf": "cache.db"}
    files = [word for option, file in options.items() for word in (f"--{option}", str(tmp_path / file))]
    more = ["--user", "ines", "--http", "--port", str(port), "--policy", "trust=hall,trust=yard"]
    process = subprocess.Popen(
        [PROGRAM, "mcp", *files, *more], env={**os.environ, "CONTEXTUNE_THREADS": "1"}, stderr=subprocess.PIPE
    )
    wait_for_port(port, process)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.communicate(timeout=PATIENCE)


@asynccontextmanager
async def open_client(url: str, token: str) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def found_names(client: Client) -> set[str]:
    return {tool["name"] for tool in (await search(client, "water the ficus", 10))["tools"]}


def test_tokens_have_permissions_of_their_own(url: str) -> None:
    async def session() -> None:
        async with open_client(url, ALL) as client:
            assert len((await client.list_tools()).tools) == 5
            async with asyncio.timeout(PATIENCE):  # the servers start in the background
                while not {"hall/water_ficus", "yard/water_ficus"} <= await found_names(client):
                    await asyncio.sleep(0.2)
            assert text(await call(client, "yard/say", text="olá")) == "yard: olá"
        async with open_client(url, HALL) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert tools == ["search_tools", "call_tool"]
            found = await search(client, "water the ficus", 20)
            names = {tool["name"] for tool in found["tools"]}
            assert names == {"hall/water_ficus", "hall/say"}
            assert "yard" not in json.dumps(found)
            assert text(await call(client, "say", text="olá")) == "hall: olá"  # its only one of this name
            for name in ("yard/say", "yard/nothing", "hall/nothing"):
                refused = await call(client, name, text="olá")
                assert text(refused) == (
                    f"there is no tool '{name}' in the catalogue; search_tools finds those there are"
                )
            for name in ("find_context", "plan", "feedback", "forget"):
                with pytest.raises(
                    MCPError, match=rf"no such tool: '{name}' \(choose from search_tools, call"
                ):
                    await client.call_tool(name, {"text": "What did Marta write?"})
            assert (await client.list_prompts()).prompts == []
            assert (await client.list_resources()).resources == []
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            for wrong in ("x", sha256(ALL.encode()).hexdigest(), f"{ALL}x"):
                headers = {"Authorization": f"Bearer {wrong}"}
                assert (await http.post(url, headers=headers, json={})).status_code == 401

    asyncio.run(session())


def test_session_of_another_token_gives_no_permissions(url: str) -> None:
    accept = {"Accept": "application/json, text/event-stream"}

    def body(method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    start = body(
        "initialize",
        protocolVersion="2025-11-25",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )

    async def session() -> None:
        async with httpx2.AsyncClient(timeout=PATIENCE, headers=accept) as http:
            opened = await http.post(url, headers={"Authorization": f"Bearer {ALL}"}, json=start)
            shared = {"mcp-session-id": opened.headers["mcp-session-id"]}
            done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await http.post(url, headers={"Authorization": f"Bearer {ALL}", **shared}, json=done)
            for token, count in ((ALL, 5), (HALL, 2)):
                headers = {"Authorization": f"Bearer {token}", **shared}
                answer = await http.post(url, headers=headers, json=body("tools/list"))
                message = json.loads(answer.text.partition("data: ")[2])
                assert len(message["result"]["tools"]) == count

    asyncio.run(session())


def test_plan_uses_permitted_tools_alone(
    tmp_path: Path, word_embedder: Embedder, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextune.serve.mcp.gateway import GatewayUser
    from contextune.types import Request

    be_patient(monkeypatch)
    store.put_user(User("ines"))
    servers = mcp_json(**{name: plain_entry(tmp_path, name, 3) for name in ("hall", "yard")})

    async def session() -> None:
        gateway = make_gateway(servers, user=GatewayUser(store, "ines"), embedder=word_embedder)
        async with gateway:
            full, part = await gateway.tuner(), await gateway.tuner(ToolPermissions(("yard/*",)))
            for tuner, apps in ((full, {"hall", "yard"}), (part, {"yard"})):
                answer = tuner.answer(Request("water the ficus", "ines"), max_tools=8)
                assert {hit.tool.app for hit in answer.tools} == apps

    asyncio.run(session())


def test_without_a_token_nothing_is_permitted(
    tmp_path: Path, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(monkeypatch)
    gateway = make_gateway(mcp_json(hall=plain_entry(tmp_path, "hall", 3)), embedder=word_embedder)

    async def session() -> None:
        async with Client(mcp_server(gateway=gateway, per_token=True)) as client:
            found = await call_structured(client, "search_tools", {"query": "water the ficus"})
            assert found["tools"] == []
            assert "there is no tool 'hall/say'" in text(await call(client, "hall/say", text="olá"))

    asyncio.run(session())


def test_patterns() -> None:
    permissions = ToolPermissions(("github/*", "find_context"))
    assert [name for name in ("github/a", "find_context", "gitlab/a", "github") if permissions(name)] == [
        "github/a",
        "find_context",
    ]
    assert permissions.of_server("github")
    assert not permissions.of_server("gitlab")
    assert EVERYTHING("a/b/c")
    assert EVERYTHING.of_server("a")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "cannot read the tokens"),
        ("{}", "has no tokens"),
        ('{"tokens": [{"sha256": "x", "tools": []}]}', "64 hexadecimal digits"),
        ('{"tokens": [{"sha256": "%s", "tools": "*"}]}' % ("a" * 64), "a list of patterns"),
        ('{"tokens": [{"sha256": "%s", "tools": [], "user": 1}]}' % ("a" * 64), "a list of patterns"),
    ],
)
def test_wrong_files_are_errors(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(content)
    with pytest.raises(InvalidDataError, match=reason):
        read_permissions(file)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--user", "ines", "--tokens", "t.json"], "--tokens goes with --http"),
        (["--catalog", "mcp.json", "--plan"], "--plan goes with --user"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], reason: str) -> None:
    done = CliRunner().invoke(app, ["mcp", *options])
    assert done.exit_code
    assert reason in " ".join(str(done.exception or done.output).split())
