"""The gateway, as the official client sees it, over real servers that are started, die, and do not answer."""

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
    alive,
    call,
    catalog,
    client_of,
    entry,
    quick,
    search,
    starts,
    text,
)

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, PlanError
from contextune.serve.mcp import upstream as gateway_line
from contextune.serve.mcp.gateway import WITHIN, Gateway, GatewayUser, check_arguments
from contextune.store import SQLiteStore
from contextune.tools.catalog_file import CatalogFile
from contextune.types import Tool as ToolOf
from contextune.types import User


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(gateway_line, "QUIET", 0.0)  # however slow the machine, servers are asked first
    return tmp_path


class Talk:
    """A talk with a gateway that several tests share, over a server called a."""

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
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    servers = catalog(a=entry(tmp_path_factory.mktemp("talk"), "a"))
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(client_of(Gateway(servers, embedder=WordEmbedder()))) as client,
    ):
        yield Talk(portal, client)


def test_two_servers_with_hundreds_of_tools(folder: Path, word_embedder: Embedder) -> None:
    servers = catalog(north=quick(folder, "north", 200), süd=quick(folder, "süd", 150))

    async def talk() -> None:
        async with client_of(Gateway(servers, embedder=word_embedder)) as client:
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
            assert "say which of 'north/paint_violin', 'süd/paint_violin'" in text(both)
            only = await call(client, "count_mirror_1", how="all")
            assert text(only) == "north: count_mirror_1"  # a name that one server has needs no more

    asyncio.run(talk())
    assert len(starts(folder, "north")) == len(starts(folder, "süd")) == 1
    assert not any(map(alive, starts(folder, "north") + starts(folder, "süd")))


def test_a_result_comes_as_it_is(talk: Talk) -> None:
    said = talk.call("say", text="Olá, 世界 🌍 \u200d")
    assert said.structured_content["said"] == "Olá, 世界 🌍 \u200d"
    assert [block.type for block in said.content] == ["text", "image"]
    assert text(said) == "a: Olá, 世界 🌍 \u200d"
    assert said.meta
    assert said.meta["example.org/mark"] == "a"
    failed = talk.call("fail")
    assert (failed.is_error, text(failed)) == (True, "the archive is closed")
    refused = talk.call("turn_down")
    assert refused.is_error
    assert "the server 'a' answers with error" in text(refused)


def test_what_tools_say_of_their_effects_is_passed_on(talk: Talk) -> None:
    hints = {name: tool.annotations for name, tool in talk.tools().items()}
    assert (said := hints["call_tool"])
    assert (said.read_only_hint, said.destructive_hint) == (False, True)
    assert (said := hints["search_tools"])
    assert (said.read_only_hint, said.destructive_hint) == (True, False)
    found = {tool["name"]: tool for tool in talk.search("burn the archive", 20)["tools"]}
    assert found["a/burn"]["annotations"] == {"destructiveHint": True}
    assert found["a/say"]["annotations"] == {"readOnlyHint": True}
    assert found["a/say"]["title"] == "Say it — 你好"
    assert "annotations" not in found["a/die"]


def test_wrong_calls_are_told_and_nothing_is_called(talk: Talk) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("say", {}, "'text' is a required property"),
        ("say", {"text": 3}, "text: 3 is not of type 'string'"),
        ("nothing", {}, "there is no tool 'nothing' in the catalogue; search_tools finds"),
    ]
    for name, arguments, reason in wrong:
        refused = talk.call(name, **arguments)
        assert refused.is_error
        assert reason in text(refused)
    odd = talk.ask("call_tool", {"name": "say", "arguments": '{"text": "as text"}'})
    assert text(odd) == "a: as text"
    unclear: list[dict[str, Any]] = [{"name": "say", "arguments": "no"}, {"nom": "say"}, {}]
    for arguments in unclear:
        refused = talk.ask("call_tool", arguments)
        assert refused.is_error
        assert "call_tool cannot be called so" in text(refused)
    empty = talk.ask("search_tools", {"query": "  "})
    assert (empty.is_error, "no text" in text(empty)) == (True, True)


def test_arguments_are_checked_without_asking_the_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        nobody.setblocking(False)
        away = {"$ref": f"http://127.0.0.1:{nobody.getsockname()[1]}/schema.json"}
        check_arguments(ToolOf("a", "", parameters={"properties": {"x": away}}), {"x": 1})
        with pytest.raises(BlockingIOError):
            nobody.accept()
    free = ToolOf("a", "", parameters={"type": "object"})
    check_arguments(free, {"whatever": ["is", "given"]})
    closed = ToolOf("a", "", "s", {"additionalProperties": False, "properties": {"x": {"enum": [1, 2]}}})
    with pytest.raises(PlanError, match=r"'s/a' was not called: .*'y' was unexpected.*x: 3 is not one of"):
        check_arguments(closed, {"y": 1, "x": 3})


def test_a_prompt_stays_as_small_as_it_is(folder: Path, word_embedder: Embedder) -> None:
    async def listed(count: int) -> bytes:
        servers = catalog(a=quick(folder, "a", count))
        async with client_of(Gateway(servers, embedder=word_embedder)) as client:
            assert (await search(client, "clean the carpet"))["tools"]
            listing = (await client.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
            return f"{listing}{client.instructions}".encode()

    few, many = asyncio.run(listed(10)), asyncio.run(listed(1000))
    assert few == many
    assert len(many) < 3000


def test_new_tools_are_found(folder: Path, word_embedder: Embedder) -> None:
    async def talk() -> None:
        async with client_of(Gateway(catalog(a=entry(folder, "a")), embedder=word_embedder)) as client:
            names = [tool["name"] for tool in (await search(client, "peel potatoes", 20))["tools"]]
            assert "a/peel_potatoes" not in names
            await call(client, "grow")
            async with asyncio.timeout(20):
                while (await search(client, "peel potatoes"))["tools"][0]["name"] != "a/peel_potatoes":
                    await asyncio.sleep(0.02)
            assert text(await call(client, "peel_potatoes")) == "a: peel_potatoes"

    asyncio.run(talk())


def test_what_served_before_is_found_first(folder: Path, store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("ines"))
    servers = catalog(a=quick(folder, "a", 5), b=quick(folder, "b", 5))

    async def talk() -> None:
        gateway = Gateway(servers, person=GatewayUser(store, "ines"), embedder=word_embedder)
        async with client_of(gateway) as client:
            await call(client, "b/say", text="unasked")
            assert store.feedback("ines") == []  # nobody searched for it
            first, second = [tool["name"] for tool in (await search(client, "my greeting", 2))["tools"]]
            assert {first, second} == {"a/say", "b/say"}
            await call(client, second)  # refused for want of an argument, and so not called
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


def test_a_shelf_that_cannot_be_written_is_done_without(folder: Path, word_embedder: Embedder) -> None:
    shelf = CatalogFile(folder / "shelf.db")
    found = Gateway(catalog(a=quick(folder, "a")), embedder=word_embedder, shelf=shelf)
    with sqlite3.connect(folder / "shelf.db") as spoiled:
        spoiled.execute("DROP TABLE vectors")

    async def talk() -> None:
        async with client_of(found) as client:
            assert (await search(client, "greeting"))["tools"][0]["name"] == "a/say"

    asyncio.run(talk())
    shelf.close()


def test_a_gateway_does_not_start_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch, word_embedder: Embedder
) -> None:
    file = folder / "mcp.json"
    file.write_text(json.dumps(catalog(a=quick(folder, "a"))))
    Gateway(file, embedder=word_embedder)
    monkeypatch.setenv(WITHIN, f"/other/mcp.json{os.pathsep}{file.resolve()}")
    with pytest.raises(InvalidDataError, match="which would start it again"):
        Gateway(file, embedder=word_embedder)
    with pytest.raises(InvalidDataError, match="no server that could be used"):
        Gateway(catalog(), embedder=word_embedder)
