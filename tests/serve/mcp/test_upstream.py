"""Upstream connections to servers that die, hang, are slow, lose sessions or are unreachable."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from tests.serve.mcp.gateway_talk import (
    BAD_SERVER,
    SDK_SERVER,
    be_patient,
    call,
    connect,
    make_gateway,
    mcp_json,
    plain_entry,
    search,
    server_entry,
    started_processes,
    text,
    wait_for_file,
)
from tests.serve.waiting import PATIENCE, free_port, wait_for_port
from tests.tools.servers.forgetful import Forgetful, forgetful

from contextune.embed import Embedder
from contextune.serve.mcp import gateway as gateway_module
from contextune.serve.mcp import upstream as upstream_module
from contextune.serve.mcp.upstream import UpstreamConnection
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.mcp.config import McpServer


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    be_patient(monkeypatch)
    return tmp_path


def test_dead_server_is_restarted(folder: Path, word_embedder: Embedder) -> None:
    async def talk() -> None:
        async with connect(
            make_gateway(mcp_json(a=plain_entry(folder, "a")), embedder=word_embedder)
        ) as client:
            died = await call(client, "die")
            assert died.is_error
            assert "closed the connection during the call" in text(died)
            assert "not known" in text(died)
            again = await call(client, "say", text="hello")
            assert again.structured_content["said"] == "hello"
            assert len(started_processes(folder, "a")) == 2
            os.kill(started_processes(folder, "a")[-1], signal.SIGKILL)  # dies between two calls
            again = await call(client, "say", text="still there?")
            assert again.structured_content["by"] == started_processes(folder, "a")[-1]
            assert len(started_processes(folder, "a")) == 3

    asyncio.run(talk())


def test_hanging_call_times_out(folder: Path, word_embedder: Embedder) -> None:
    gateway = make_gateway(mcp_json(a=server_entry(folder, "a")), embedder=word_embedder)

    async def talk() -> None:
        connection = gateway._connections["a"]  # pyright: ignore[reportPrivateUsage]
        async with connect(gateway) as client:
            await search(client, "greeting")
            connection._timeout = 0.5  # pyright: ignore[reportPrivateUsage]  # after the slow start
            result = await call(client, "wait")
            assert result.is_error
            assert "did not answer within 0.5 seconds" in text(result)
            connection._timeout = PATIENCE  # pyright: ignore[reportPrivateUsage]
            assert not (await call(client, "say", text="awake?")).is_error
            reports: list[float] = []

            async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                reports.append(progress)

            result = await client.call_tool("call_tool", {"name": "stroll"}, progress_callback=on_progress)
            assert not result.is_error
            assert reports == [0, 1, 2, 3]

    asyncio.run(talk())


def test_progress_extends_the_timeout() -> None:
    class Connection:
        """Checks the deadline of the call around each progress report."""

        async def call(self, name: str, _arguments: object, on_progress: Any) -> str:
            before = anyio.current_effective_deadline()
            while anyio.current_time() == start:
                await anyio.sleep(0)
            await on_progress(1, 2, None)
            assert anyio.current_effective_deadline() > before
            return name

    async def nothing(_: object) -> None:
        """Ignore the tools."""

    async def talk() -> None:
        nonlocal start
        upstream = UpstreamConnection(McpServer("a", command="true"), nothing, timeout=PATIENCE)
        start = anyio.current_time()
        send_call = upstream._send_call  # pyright: ignore[reportPrivateUsage]
        result: object = await send_call(cast("Any", Connection()), "stroll", {}, None)
        assert result == "stroll"

    start = 0.0
    asyncio.run(talk())


def test_cancellation_reaches_the_server(folder: Path, word_embedder: Embedder) -> None:
    async def talk() -> None:
        async with connect(
            make_gateway(mcp_json(a=server_entry(folder, "a")), embedder=word_embedder)
        ) as client:
            waiting = asyncio.create_task(call(client, "wait"))
            await wait_for_file(folder / "a.waiting")
            said = await call(client, "say", text="beside it")  # calls run concurrently
            assert not said.is_error
            waiting.cancel()
            await wait_for_file(folder / "a.cancelled")
            assert not (await call(client, "say", text="after it")).is_error
            assert len(started_processes(folder, "a")) == 1

    asyncio.run(talk())


def test_search_does_not_wait_for_a_slow_server(
    folder: Path, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = mcp_json(
        slow={"command": sys.executable, "args": [str(BAD_SERVER), "silent"]},
        quick=plain_entry(folder, "quick"),
    )

    async def talk() -> None:
        async with connect(make_gateway(servers, embedder=word_embedder, timeout=PATIENCE)) as client:
            async with asyncio.timeout(PATIENCE / 2):  # the slow one would take twice as long
                found = await search(client, "greeting")
                assert found["tools"][0]["name"] == "quick/say"
            assert "the server 'slow' is still starting" in found["note"]

    monkeypatch.setattr(gateway_module, "_GRACE", 0.2)
    asyncio.run(talk())


def test_call_waits_for_its_own_server_only(folder: Path, word_embedder: Embedder) -> None:
    servers = mcp_json(
        slow={"command": sys.executable, "args": [str(BAD_SERVER), "silent"]},
        quick=plain_entry(folder, "quick"),
    )

    async def talk() -> None:
        async with connect(make_gateway(servers, embedder=word_embedder, timeout=PATIENCE)) as client:
            async with asyncio.timeout(PATIENCE / 2):
                assert text(await call(client, "quick/say", text="hello")) == "quick: hello"

    asyncio.run(talk())


def test_unavailable_servers_are_named_and_the_rest_is_searched(
    folder: Path, word_embedder: Embedder
) -> None:
    servers = mcp_json(
        a=plain_entry(folder, "a"),
        dead={"command": sys.executable, "args": [str(BAD_SERVER), "dead"]},
        silent={"command": sys.executable, "args": [str(BAD_SERVER), "silent"]},
        off={**plain_entry(folder, "off"), "disabled": True},
    )
    gateway = make_gateway(servers, embedder=word_embedder)
    gateway._connections["silent"]._timeout = 0.5  # pyright: ignore[reportPrivateUsage]
    assert [refused.name for refused in gateway.refused] == ["off"]

    async def talk() -> None:
        async with connect(gateway) as client:
            found = await search(client, "greeting")
            assert found["tools"][0]["name"] == "a/say"
            assert "the server 'dead' exited before it answered" in found["note"]
            assert "the server 'silent' did not answer within 0.5 seconds" in found["note"]
            assert "SECRET" not in found["note"]

    asyncio.run(talk())


def test_server_with_cached_tools_starts_on_its_first_call(folder: Path, word_embedder: Embedder) -> None:
    servers = mcp_json(a=plain_entry(folder, "a", 10), b=plain_entry(folder, "b", 10))

    async def talk(query: str, *, called: str = "") -> str:
        with CatalogFile(folder / "cache.db") as cache:
            gateway = make_gateway(servers, embedder=word_embedder, cache=cache)
            async with connect(gateway) as client:
                name = (await search(client, query))["tools"][0]["name"]
                if called:
                    assert not (await call(client, called, text="x")).is_error
                return name

    asyncio.run(talk("greeting"))
    assert (len(started_processes(folder, "a")), len(started_processes(folder, "b"))) == (1, 1)
    assert asyncio.run(talk("greeting")).endswith("/say")
    assert (len(started_processes(folder, "a")), len(started_processes(folder, "b"))) == (1, 1)
    asyncio.run(talk("greeting", called="b/say"))
    assert (len(started_processes(folder, "a")), len(started_processes(folder, "b"))) == (1, 2)
    servers["mcpServers"]["a"]["args"][2] = "20"  # with another command it may have other tools
    asyncio.run(talk("greeting"))
    assert (len(started_processes(folder, "a")), len(started_processes(folder, "b"))) == (2, 2)


@pytest.fixture
def running(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]], int]]:
    port = free_port()
    processes = [start(folder, port)]
    yield f"http://127.0.0.1:{port}/mcp", processes, port
    for process in processes:
        process.kill()
        process.wait()


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, SDK_SERVER, "web", "5", folder, str(port)])
    wait_for_port(port, process)
    return process


def test_http_and_stdio_servers_together(
    folder: Path, running: tuple[str, list[subprocess.Popen[bytes]], int], word_embedder: Embedder
) -> None:
    url, processes, port = running
    servers = mcp_json(web={"type": "http", "url": url}, local=server_entry(folder, "local"))

    async def talk() -> None:
        async with connect(make_gateway(servers, embedder=word_embedder)) as client:
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
        async with connect(make_gateway(url, embedder=word_embedder)) as client:
            assert text(await call(client, "127.0.0.1/say", text="hello")) == "web: hello"

    asyncio.run(talk())


@pytest.mark.parametrize("ping_after", [0.0, 1000.0], ids=["pinged first", "called at once"])
def test_call_after_an_expired_session_runs_once(
    ping_after: float, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_module, "PING_AFTER", ping_after)

    async def talk(port: int) -> None:
        servers = mcp_json(web={"url": f"http://127.0.0.1:{port}/mcp"})
        async with connect(make_gateway(servers, embedder=word_embedder)) as client:
            assert text(await call(client, "note")) == "noted"
            Forgetful.sessions.clear()
            assert text(await call(client, "note")) == "noted"

    with forgetful() as port:
        asyncio.run(talk(port))
    assert len(Forgetful.called) == len(set(Forgetful.called)) == 2  # once in each session
