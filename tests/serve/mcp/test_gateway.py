"""The gateway through the official MCP client, over real upstream servers."""

import asyncio
import json
import os
import socket
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp_types import CallToolResult, Tool
from tests.conftest import WordEmbedder
from tests.serve.mcp.gateway_talk import (
    be_patient,
    call,
    connect,
    is_alive,
    make_gateway,
    mcp_json,
    plain_entry,
    search,
    server_entry,
    started_processes,
    text,
)
from tests.serve.waiting import PATIENCE

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, PlanError
from contextune.serve.mcp.gateway import PARENT_CATALOGS, GatewayUser
from contextune.serve.mcp.upstream_tools import check_arguments
from contextune.store import SQLiteStore
from contextune.tools.catalog_file import CatalogFile
from contextune.types import Tool as CatalogTool
from contextune.types import User


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    be_patient(monkeypatch)
    return tmp_path


class GatewayClient:
    """A synchronous client of a gateway over the server "a", shared by several tests."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client

    def search(self, query: str, k: int = 5) -> dict[str, Any]:
        return self._portal.call(search, self.client, query, k)

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        return self._portal.call(partial(call, self.client, name, **arguments))

    def ask(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        return self._portal.call(self.client.call_tool, tool, arguments)

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self._portal.call(self.client.list_tools).tools}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayClient]:
    servers = mcp_json(a=server_entry(tmp_path_factory.mktemp("gateway"), "a"))
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connect(make_gateway(servers, embedder=WordEmbedder()))) as client,
    ):
        yield GatewayClient(portal, client)


def test_search_and_call_over_two_large_servers(folder: Path, word_embedder: Embedder) -> None:
    servers = mcp_json(north=plain_entry(folder, "north", 200), süd=plain_entry(folder, "süd", 150))

    async def talk() -> None:
        async with connect(make_gateway(servers, embedder=word_embedder)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["search_tools", "call_tool"]
            found = await search(client, "paint the violin", k=4)
            assert {"north/paint_violin", "süd/paint_violin"} <= {tool["name"] for tool in found["tools"]}
            assert found["tools"][0]["inputSchema"]["properties"] == {"how": {"type": "string"}}
            for server in ("north", "süd"):
                painted = await call(client, f"{server}/paint_violin", how="red")
                assert text(painted) == f"{server}: paint_violin"
            many = [(f"{one}/say", str(number)) for number in range(20) for one in ("north", "süd")]
            said = await asyncio.gather(*(call(client, name, text=word) for name, word in many))
            assert [text(one) for one in said] == [f"{name.split('/')[0]}: {word}" for name, word in many]
            both = await call(client, "paint_violin", how="red")
            assert both.is_error
            assert "use an id, such as 'north/paint_violin', 'süd/paint_violin'" in text(both)
            only = await call(client, "count_mirror_1", how="all")
            assert text(only) == "north: count_mirror_1"  # a unique name is enough

    asyncio.run(talk())
    assert len(started_processes(folder, "north")) == len(started_processes(folder, "süd")) == 1
    assert not any(map(is_alive, started_processes(folder, "north") + started_processes(folder, "süd")))


def test_results_are_passed_on_unchanged(client: GatewayClient) -> None:
    said = client.call("say", text="Olá, 世界 🌍 \u200d")
    assert said.structured_content["said"] == "Olá, 世界 🌍 \u200d"
    assert [block.type for block in said.content] == ["text", "image"]
    assert text(said) == "a: Olá, 世界 🌍 \u200d"
    assert said.meta
    assert said.meta["example.org/mark"] == "a"
    failed = client.call("fail")
    assert (failed.is_error, text(failed)) == (True, "the archive is closed")
    refused = client.call("turn_down")
    assert refused.is_error
    assert "the server 'a' answers with error" in text(refused)


def test_annotations_are_passed_on(client: GatewayClient) -> None:
    hints = {name: tool.annotations for name, tool in client.tools().items()}
    assert (hint := hints["call_tool"])
    assert (hint.read_only_hint, hint.destructive_hint) == (False, True)
    assert (hint := hints["search_tools"])
    assert (hint.read_only_hint, hint.destructive_hint) == (True, False)
    found = {tool["name"]: tool for tool in client.search("burn the archive", 20)["tools"]}
    assert found["a/burn"]["annotations"] == {"destructiveHint": True}
    assert found["a/say"]["annotations"] == {"readOnlyHint": True}
    assert found["a/say"]["title"] == "Say it — 你好"
    assert "annotations" not in found["a/die"]


def test_invalid_calls_are_errors(client: GatewayClient) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("say", {}, "is a required property"),
        ("say", {"text": 3}, "text: 3 is not of type"),
        ("nothing", {}, "there is no tool 'nothing' in the catalogue; search_tools finds"),
    ]
    for name, arguments, reason in wrong:
        refused = client.call(name, **arguments)
        assert refused.is_error
        assert reason in text(refused)
    odd = client.ask("call_tool", {"name": "say", "arguments": '{"text": "as text"}'})
    assert text(odd) == "a: as text"
    unclear: list[dict[str, Any]] = [{"name": "say", "arguments": "no"}, {"nom": "say"}, {}]
    for arguments in unclear:
        refused = client.ask("call_tool", arguments)
        assert refused.is_error
        assert "invalid arguments for call_tool" in text(refused)
    empty = client.ask("search_tools", {"query": "  "})
    assert (empty.is_error, "text is empty" in text(empty)) == (True, True)


def test_check_arguments_fetches_no_remote_schema() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        nobody.setblocking(False)
        away = {"$ref": f"http://127.0.0.1:{nobody.getsockname()[1]}/schema.json"}
        check_arguments(CatalogTool("a", "", parameters={"properties": {"x": away}}), {"x": 1})
        with pytest.raises(BlockingIOError):
            nobody.accept()
    free = CatalogTool("a", "", parameters={"type": "object"})
    check_arguments(free, {"whatever": ["is", "given"]})
    closed = CatalogTool("a", "", "s", {"additionalProperties": False, "properties": {"x": {"enum": [1, 2]}}})
    with pytest.raises(PlanError, match=r"'s/a' was not called, .*'y' was unexpected.*x: 3 is not one of"):
        check_arguments(closed, {"y": 1, "x": 3})


def test_listing_size_does_not_depend_on_the_number_of_tools(folder: Path, word_embedder: Embedder) -> None:
    async def listed(count: int) -> bytes:
        servers = mcp_json(a=plain_entry(folder, "a", count))
        async with connect(make_gateway(servers, embedder=word_embedder)) as client:
            assert (await search(client, "clean the carpet"))["tools"]
            listing = (await client.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
            return f"{listing}{client.instructions}".encode()

    few, many = asyncio.run(listed(10)), asyncio.run(listed(1000))
    assert few == many
    assert len(many) < 3000


def test_added_tools_become_searchable(folder: Path, word_embedder: Embedder) -> None:
    async def talk() -> None:
        async with connect(
            make_gateway(mcp_json(a=server_entry(folder, "a")), embedder=word_embedder)
        ) as client:
            names = [tool["name"] for tool in (await search(client, "peel potatoes", 20))["tools"]]
            assert "a/peel_potatoes" not in names
            await call(client, "grow")
            async with asyncio.timeout(PATIENCE):
                while (await search(client, "peel potatoes"))["tools"][0]["name"] != "a/peel_potatoes":
                    await asyncio.sleep(0.02)
            assert text(await call(client, "peel_potatoes")) == "a: peel_potatoes"

    asyncio.run(talk())


def test_successful_calls_improve_the_ranking(
    folder: Path, store: SQLiteStore, word_embedder: Embedder
) -> None:
    store.put_user(User("ines"))
    servers = mcp_json(a=plain_entry(folder, "a", 5), b=plain_entry(folder, "b", 5))

    async def talk() -> None:
        gateway = make_gateway(servers, user=GatewayUser(store, "ines"), embedder=word_embedder)
        async with connect(gateway) as client:
            await call(client, "b/say", text="unasked")
            assert store.feedback("ines") == []  # no search preceded it
            first, second = [tool["name"] for tool in (await search(client, "my greeting", 2))["tools"]]
            assert {first, second} == {"a/say", "b/say"}
            await call(client, second)  # rejected for a missing argument
            for _ in range(3):
                await call(client, second, text="hello")
            kept = [(one.request.text, one.tool, one.ok) for one in store.feedback("ines")]
            assert kept == [("my greeting", second, True)] * 3
            assert (await search(client, "my greeting", 2))["tools"][0]["name"] == second
            await search(client, "report a failure", 20)
            await call(client, "a/fail")
            last = store.feedback("ines")[-1]
            assert (last.request.text, last.tool, last.ok) == ("report a failure", "a/fail", False)

    asyncio.run(talk())


def test_broken_cache_is_ignored(folder: Path, word_embedder: Embedder) -> None:
    cache = CatalogFile(folder / "cache.db")
    gateway = make_gateway(mcp_json(a=plain_entry(folder, "a")), embedder=word_embedder, cache=cache)
    with sqlite3.connect(folder / "cache.db") as connection:
        connection.execute("DROP TABLE vectors")

    async def talk() -> None:
        async with connect(gateway) as client:
            assert (await search(client, "greeting"))["tools"][0]["name"] == "a/say"

    asyncio.run(talk())
    cache.close()


def test_gateway_that_would_start_itself_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, word_embedder: Embedder
) -> None:
    file = folder / "mcp.json"
    file.write_text(json.dumps(mcp_json(a=plain_entry(folder, "a"))))
    make_gateway(file, embedder=word_embedder)
    monkeypatch.setenv(PARENT_CATALOGS, f"/other/mcp.json{os.pathsep}{file.resolve()}")
    with pytest.raises(InvalidDataError, match="which would start it again"):
        make_gateway(file, embedder=word_embedder)
    with pytest.raises(InvalidDataError, match="no usable server"):
        make_gateway(mcp_json(), embedder=word_embedder)
