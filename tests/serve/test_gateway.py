"""The gateway, as the official client sees it, over real servers that are started, die, and do not answer."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp_types import CallToolResult, TextContent, Tool
from tests.conftest import WordEmbedder

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.serve import gateway_line
from contextune.serve.gateway import WITHIN, Gateway, Person
from contextune.serve.mcp import mcp_server
from contextune.store import SQLiteStore
from contextune.tools.shelf import Shelf
from contextune.types import User

SERVER = Path(__file__).with_name("gateway_server.py")
QUICK = Path(__file__).with_name("gateway_plain.py")
PLAIN = Path(__file__).parents[1] / "tools" / "servers" / "plain.py"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(gateway_line, "QUIET", 0.0)  # however slow the machine, servers are asked first
    return tmp_path


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


def starts(folder: Path, name: str) -> list[int]:
    file = folder / f"{name}.starts"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


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


def test_a_server_that_dies_is_started_again(folder: Path, word_embedder: Embedder) -> None:
    async def talk() -> None:
        async with client_of(Gateway(catalog(a=quick(folder, "a")), embedder=word_embedder)) as client:
            died = await call(client, "die")
            assert died.is_error
            assert "broke off" in text(died)
            assert "not known" in text(died)
            again = await call(client, "say", text="hello")
            assert again.structured_content["said"] == "hello"
            assert len(starts(folder, "a")) == 2
            os.kill(starts(folder, "a")[-1], signal.SIGKILL)  # and one that dies while nobody calls it
            again = await call(client, "say", text="still there?")
            assert again.structured_content["by"] == starts(folder, "a")[-1]
            assert len(starts(folder, "a")) == 3

    asyncio.run(talk())


def test_a_server_that_never_answers(folder: Path, word_embedder: Embedder) -> None:
    gateway = Gateway(catalog(a=entry(folder, "a")), embedder=word_embedder, timeout=20.0)

    async def talk() -> None:
        line = gateway._lines["a"]  # pyright: ignore[reportPrivateUsage]  # to start takes longer than to answer
        async with client_of(gateway) as client:
            await search(client, "greeting")
            line._timeout = 0.6  # pyright: ignore[reportPrivateUsage]
            waited = await call(client, "wait")
            assert waited.is_error
            assert "did not answer within 0.6 seconds" in text(waited)
            line._timeout = 20.0  # pyright: ignore[reportPrivateUsage]
            assert not (await call(client, "say", text="awake?")).is_error
            line._timeout = 0.6  # pyright: ignore[reportPrivateUsage]
            told: list[float] = []

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                told.append(progress)

            strolled = await client.call_tool(
                "call_tool", {"name": "stroll"}, progress_callback=hear
            )  # longer than that, but it says how far it is
            assert not strolled.is_error
            assert told == [0, 1, 2, 3]

    asyncio.run(talk())


def test_a_call_that_is_cancelled_is_cancelled_at_its_server(folder: Path, word_embedder: Embedder) -> None:
    async def talk() -> None:
        async with client_of(Gateway(catalog(a=entry(folder, "a")), embedder=word_embedder)) as client:
            waiting = asyncio.create_task(call(client, "wait"))
            await until(folder / "a.waiting")
            said = await call(client, "say", text="beside it")  # calls do not wait for each other
            assert not said.is_error
            waiting.cancel()
            await until(folder / "a.cancelled")
            assert not (await call(client, "say", text="after it")).is_error
            assert len(starts(folder, "a")) == 1

    asyncio.run(talk())


async def until(file: Path) -> None:
    async with asyncio.timeout(20):
        while not file.exists():
            await asyncio.sleep(0.02)


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


def test_servers_that_cannot_be_reached_are_named_and_the_rest_is_searched(
    folder: Path, word_embedder: Embedder
) -> None:
    servers = catalog(
        a=quick(folder, "a"),
        dead={"command": sys.executable, "args": [str(PLAIN), "dead"]},
        silent={"command": sys.executable, "args": [str(PLAIN), "silent"]},
        off={**quick(folder, "off"), "disabled": True},
    )
    gateway = Gateway(servers, embedder=word_embedder, timeout=5.0)
    gateway._lines["silent"]._timeout = 0.5  # pyright: ignore[reportPrivateUsage]  # the others may take longer
    assert [one.name for one in gateway.refused] == ["off"]

    async def talk() -> None:
        async with client_of(gateway) as client:
            found = await search(client, "greeting")
            assert found["tools"][0]["name"] == "a/say"
            assert "the server 'dead' ended before it had answered" in found["note"]
            assert "the server 'silent' did not answer within 0.5 seconds" in found["note"]
            assert "SECRET" not in found["note"]

    asyncio.run(talk())


def test_servers_whose_tools_are_known_are_started_when_they_are_called(
    folder: Path, word_embedder: Embedder
) -> None:
    servers = catalog(a=quick(folder, "a", 10), b=quick(folder, "b", 10))

    async def talk(query: str, *, called: str = "") -> str:
        with Shelf(folder / "shelf.db") as shelf:
            gateway = Gateway(servers, embedder=word_embedder, shelf=shelf)
            async with client_of(gateway) as client:
                name = (await search(client, query))["tools"][0]["name"]
                if called:
                    assert not (await call(client, called, text="x")).is_error
                return name

    asyncio.run(talk("greeting"))
    assert (len(starts(folder, "a")), len(starts(folder, "b"))) == (1, 1)
    assert asyncio.run(talk("greeting")).endswith("/say")
    assert (len(starts(folder, "a")), len(starts(folder, "b"))) == (1, 1)
    asyncio.run(talk("greeting", called="b/say"))
    assert (len(starts(folder, "a")), len(starts(folder, "b"))) == (1, 2)
    servers["mcpServers"]["a"]["args"][2] = "20"  # started in another way, it may offer something else
    asyncio.run(talk("greeting"))
    assert (len(starts(folder, "a")), len(starts(folder, "b"))) == (2, 2)


@pytest.fixture
def running(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]], int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [start(folder, port)]
    yield f"http://127.0.0.1:{port}/mcp", processes, port
    for process in processes:
        process.kill()
        process.wait()


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, SERVER, "web", "5", folder, str(port)])
    for _ in range(600):
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    return process


def test_a_server_over_http_beside_one_over_stdio(
    folder: Path, running: tuple[str, list[subprocess.Popen[bytes]], int], word_embedder: Embedder
) -> None:
    url, processes, port = running
    servers = catalog(web={"type": "http", "url": url}, local=entry(folder, "local"))

    async def talk() -> None:
        async with client_of(Gateway(servers, embedder=word_embedder)) as client:
            names = {tool["name"] for tool in (await search(client, "repeat a greeting"))["tools"]}
            assert {"web/say", "local/say"} <= names
            assert text(await call(client, "web/say", text="hello")) == "web: hello"
            processes[0].kill()
            processes[0].wait()
            gone = await call(client, "web/say", text="anybody?")
            assert gone.is_error
            assert "the server 'web' cannot be reached" in text(gone)
            processes.append(start(folder, port))
            assert text(await call(client, "web/say", text="back")) == "web: back"

    asyncio.run(talk())


def test_what_served_before_is_found_first(folder: Path, store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("ines"))
    servers = catalog(a=quick(folder, "a", 5), b=quick(folder, "b", 5))

    async def talk() -> None:
        gateway = Gateway(servers, person=Person(store, "ines"), embedder=word_embedder)
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
