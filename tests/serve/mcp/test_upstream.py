"""Lines to real servers that die, do not answer, forget, are slow, or cannot be reached."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.mcp.gateway_talk import (
    PLAIN,
    SERVER,
    call,
    catalog,
    client_of,
    entry,
    quick,
    search,
    starts,
    text,
    until,
)
from tests.tools.servers.forgetful import Forgetful, forgetful

from contextune.embed import Embedder
from contextune.serve.mcp import gateway as gateway_module
from contextune.serve.mcp import upstream as gateway_line
from contextune.serve.mcp.gateway import Gateway
from contextune.tools.catalog_file import CatalogFile


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(gateway_line, "QUIET", 0.0)  # however slow the machine, servers are asked first
    return tmp_path


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
            line._timeout = 1.5  # pyright: ignore[reportPrivateUsage]
            waited = await call(client, "wait")
            assert waited.is_error
            assert "did not answer within 1.5 seconds" in text(waited)
            line._timeout = 20.0  # pyright: ignore[reportPrivateUsage]
            assert not (await call(client, "say", text="awake?")).is_error
            line._timeout = 1.5  # pyright: ignore[reportPrivateUsage]
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


def test_a_search_does_not_wait_for_a_slow_server(
    folder: Path, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = catalog(
        slow={"command": sys.executable, "args": [str(PLAIN), "silent"]}, quick=quick(folder, "quick")
    )

    async def talk() -> None:
        async with client_of(Gateway(servers, embedder=word_embedder, timeout=200.0)) as client:
            async with asyncio.timeout(20):
                while (await call(client, "quick/say", text="known")).is_error:
                    await asyncio.sleep(0.05)
            found = await search(client, "greeting")
            assert found["tools"][0]["name"] == "quick/say"
            assert "the server 'slow' is still starting" in found["note"]

    monkeypatch.setattr(gateway_module, "_LATE", 0.2)
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
        with CatalogFile(folder / "shelf.db") as shelf:
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
        async with client_of(Gateway(url, embedder=word_embedder)) as client:
            assert text(await call(client, "127.0.0.1/say", text="hello")) == "web: hello"

    asyncio.run(talk())


@pytest.mark.parametrize("quiet", [0.0, 1000.0], ids=["asked first", "called at once"])
def test_a_server_that_has_forgotten_us_is_called_once(
    quiet: float, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_line, "QUIET", quiet)

    async def talk(port: int) -> None:
        servers = catalog(web={"url": f"http://127.0.0.1:{port}/mcp"})
        async with client_of(Gateway(servers, embedder=word_embedder)) as client:
            assert text(await call(client, "note")) == "noted"
            Forgetful.sessions.clear()
            assert text(await call(client, "note")) == "noted"

    with forgetful() as port:
        asyncio.run(talk(port))
    assert len(Forgetful.called) == len(set(Forgetful.called)) == 2  # once in each session
