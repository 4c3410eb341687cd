"""load_mcp and LiveCatalog against real servers over stdio and HTTP, including faulty ones."""

import asyncio
import json
import logging
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.paths import MCP_SERVERS

from contextune.errors import ContextuneError, InvalidDataError, MissingExtraError
from contextune.tools import LoadedTools
from contextune.tools.loaders import LiveCatalog, McpServer, load_mcp, load_tools
from contextune.types import Annotations

SERVERS = MCP_SERVERS
STUDIO = ["list_kilns", "fire_kiln", "empty_kiln", "glaze", "book", "grow"]


def plain(mode: str, *args: str, name: str = "plain", **more: Any) -> McpServer:
    return McpServer(name, command=sys.executable, args=(str(SERVERS / "plain.py"), mode, *args), **more)


def entry(mode: str, *args: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / "plain.py"), mode, *args], **more}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of a running server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, SERVERS / "real.py", "http", str(port)])
    try:
        for _ in range(1200):
            with socket.socket() as line:
                if line.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def names(loaded: LoadedTools) -> list[str]:
    return [tool.name for tool in loaded.tools]


def check_studio(loaded: LoadedTools, app: str) -> None:
    assert loaded.refused == ()
    assert [tool.id for tool in loaded.tools[:6]] == [f"{app}/{name}" for name in STUDIO]
    tools = {tool.name: tool for tool in loaded.tools}
    assert tools["book"].about == "Tools of a pottery studio."
    assert tools["book"].parameters["properties"]["id"]["description"] == "Which one."
    assert tools["list_kilns"].annotations == Annotations(read_only=True)
    hints = Annotations(destructive=True, idempotent=False, open_world=False)
    assert tools["empty_kiln"].annotations == hints
    assert [tools[name].title for name in ("book", "fire_kiln", "empty_kiln")] == ["", "Fire it", "Empty it"]


def test_stdio_server_lists_all_pages() -> None:
    server = McpServer(command=sys.executable, args=(str(SERVERS / "real.py"), "stdio"))
    check_studio(load_mcp(server), "studio")


def test_http_server_lists_all_pages(url: str) -> None:
    check_studio(load_tools(url), "studio")
    check_studio(load_tools(url, app="atelier"), "atelier")


def test_load_inside_a_running_event_loop(url: str) -> None:
    async def notebook() -> LoadedTools:
        return load_mcp(url)

    check_studio(asyncio.run(notebook()), "studio")


def test_servers_of_an_mcp_json(tmp_path: Path, url: str) -> None:
    file = tmp_path / "mcp.json"
    servers: dict[str, Any] = {
        "one": entry("good"),
        "dead": entry("dead"),
        "studio": {"type": "http", "url": url},
        "two": entry("good"),
        "missing": {"command": "no-such-command-anywhere"},
        "off": {**entry("good"), "disabled": True},
        "sse": {"type": "sse", "url": "https://example.org"},
        "both": {"command": "a", "url": "https://example.org"},
        "odd": [],
    }
    for key in ("mcpServers", "servers"):
        file.write_text(json.dumps({key: servers}))
        loaded = load_tools(file)
        ids = ["one/one", "one/two", *(f"studio/{name}" for name in STUDIO), "two/one", "two/two"]
        assert [tool.id for tool in loaded.tools][: len(ids)] == ids
        assert {refused.name for refused in loaded.refused} == {
            "dead",
            "missing",
            "off",
            "sse",
            "both",
            "odd",
        }
    with pytest.raises(InvalidDataError, match="have their own names"):
        load_tools(file, app="x")


def test_environment_variables_are_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUDIO_TOKEN", "abc")
    monkeypatch.setenv("NOT_PASSED_ON", "x")
    env = {"A": "${STUDIO_TOKEN}", "B": "x${env:STUDIO_TOKEN}y", "C": "${STUDIO_NONE:-other}", "D": 5}
    servers = {
        "set": entry("environment", "A", "B", "C", "D", "NOT_PASSED_ON", env=env),
        "unset": entry("good", env={"A": "${STUDIO_NONE}"}),
        "asking": {"url": "https://example.org", "headers": {"X": "${input:token}"}},
    }
    loaded = load_mcp({"mcpServers": servers})
    assert names(loaded) == ["A_abc", "B_xabcy", "C_other", "D_5", "NOT_PASSED_ON_missing"]
    reasons = {refused.name: refused.reason for refused in loaded.refused}
    assert "'STUDIO_NONE', which is not set" in reasons["unset"]
    assert "'input:token'" in reasons["asking"]


def test_invalid_tools_are_refused_and_the_rest_are_loaded() -> None:
    loaded = load_mcp(plain("broken"))
    assert names(loaded) == ["good", "nothing_said"]
    good = loaded.tools[0]
    assert (good.id, good.about, good.examples) == ("plain/good", "", ())  # a server cannot set these
    assert [refused.name.removeprefix("plain/") for refused in loaded.refused] == [
        "a_list", "an_array", "odd_properties", "odd_type", "#6", "good", "no_schema", "odd_words", "#10"
    ]  # fmt: skip


def test_server_without_tools() -> None:
    assert load_mcp(plain("no-tools")) == LoadedTools(())


BAD: dict[str, tuple[McpServer, str]] = {
    "dead": (plain("dead"), "exited before it answered"),
    "dying": (plain("dying"), "exited before it answered"),
    "silent": (plain("silent"), "did not answer within 0.8 seconds"),
    "refusing": (plain("refusing"), "answered with error -32000"),
    "repeated page": (plain("circle"), "same page of tools twice"),
    "an object of tools": (plain("odd-list"), "an object, not a list of tools"),
    "no list": (plain("odd-answer"), "not MCP"),
    "no command": (McpServer("plain", command="no-such-command"), "'no-such-command': No such file"),
    "no program": (McpServer("plain", command=str(SERVERS / "plain.py")), "Permission denied"),
    "no folder": (plain("good", cwd="no-such-folder"), "in 'no-such-folder'"),
    "nobody there": (McpServer("plain", url="http://127.0.0.1:9/mcp"), "cannot be reached"),
}


@pytest.mark.parametrize(("server", "reason"), BAD.values(), ids=BAD.keys())
def test_faulty_server_is_refused_without_quoting_it(
    server: McpServer, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    # long enough for a busy machine, except for the server that never answers
    loaded = load_mcp(server, timeout=0.8 if "0.8 seconds" in reason else 60)
    assert loaded.tools == ()
    (refused,) = loaded.refused
    assert refused.name == "plain"
    assert reason in refused.reason
    assert "SECRET" not in f"{refused.reason}{capfd.readouterr()}"


def test_other_output_of_a_server_is_ignored(capfd: pytest.CaptureFixture[str]) -> None:
    assert names(load_mcp(plain("noisy"))) == ["one", "two"]
    assert "SECRET" not in str(capfd.readouterr())


class Web(BaseHTTPRequestHandler):
    """A web server without MCP."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status = int(self.path.strip("/").split("?")[0])
        self.send_response(status)
        self.send_header("content-type", "text/html" if status == 200 else "text/plain")
        self.send_header("content-length", "6")
        self.end_headers()
        self.wfile.write(b"SECRET")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as in the base class
        """No log."""


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "HTTP 401"), (404, "HTTP 404"), (503, "HTTP 503"), (200, "is an MCP server")]
)
def test_web_server_without_mcp_is_refused(status: int, reason: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Web) as web:
        Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        (refused,) = load_tools(f"http://me:PASSWORD@127.0.0.1:{web.server_port}/{status}?key=KEY").refused
        web.shutdown()
    assert refused.name == "127.0.0.1"
    assert reason in refused.reason
    assert not any(secret in refused.reason for secret in ("SECRET", "PASSWORD", "KEY"))


def test_headers_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str | None] = []

    class Recording(Web):
        def do_POST(self) -> None:
            keys.append(self.headers["X-Key"])
            super().do_POST()

    monkeypatch.setenv("STUDIO_KEY", "abc")
    with ThreadingHTTPServer(("127.0.0.1", 0), Recording) as web:
        Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        address = f"http://127.0.0.1:{web.server_port}/403"
        load_mcp({"mcpServers": {"a": {"url": address, "headers": {"X-Key": "k ${STUDIO_KEY}"}}}})
        web.shutdown()
    assert set(keys) == {"k abc"}


def test_server_receives_only_the_headers_of_its_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[str] = []

    class Recording(Web):
        def do_POST(self) -> None:
            received.append(str(self.headers))
            super().do_POST()

    monkeypatch.setenv("CONTEXTUNE_MCP_TOKEN", "token-of-the-clients")
    with ThreadingHTTPServer(("127.0.0.1", 0), Recording) as web:
        Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        address = f"http://127.0.0.1:{web.server_port}/403"
        others = {"url": "http://127.0.0.1:9/", "headers": {"X-Key": "key-of-another"}}
        load_mcp({"mcpServers": {"a": {"url": address, "headers": {"X-Key": "own"}}, "b": others}})
        web.shutdown()
    assert received
    for headers in received:
        assert "own" in headers
        assert "token-of-the-clients" not in headers
        assert "key-of-another" not in headers
        assert "authorization" not in headers.lower()


def test_redirect_to_another_origin_is_not_followed() -> None:
    reached: list[str] = []

    class Internal(Web):
        def do_POST(self) -> None:
            reached.append(self.path)
            super().do_POST()

    with ThreadingHTTPServer(("127.0.0.1", 0), Internal) as internal:

        class Redirecting(Web):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self.send_response(307)
                self.send_header("location", f"http://127.0.0.1:{internal.server_port}/200")
                self.send_header("content-length", "0")
                self.end_headers()

        with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as web:
            for server in (internal, web):
                Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            (refused,) = load_tools(f"http://127.0.0.1:{web.server_port}/").refused
            for server in (internal, web):
                server.shutdown()
    assert "MCP server" in refused.reason
    assert not reached


def test_repr_has_no_secrets_and_server_is_validated() -> None:
    server = McpServer("a", url="https://example.org?key=KEY", headers={"X": "TOKEN"})
    assert "KEY" not in repr(server)
    assert "TOKEN" not in repr(server)
    with pytest.raises(InvalidDataError, match="must start with http"):
        McpServer("a", url="ftp://example.org")
    with pytest.raises(InvalidDataError, match="either a command or a url"):
        McpServer("a")


async def next_change(changes: "asyncio.Queue[LoadedTools]") -> LoadedTools:
    async with asyncio.timeout(60):
        return await changes.get()


async def grow(live: LiveCatalog) -> None:
    connection = live._connection  # pyright: ignore[reportPrivateUsage]  # a catalogue has no method for calls
    assert connection
    await connection.client.call_tool("grow", {})


@pytest.mark.parametrize("kind", ["2025-11-25", "2026-07-28", "http"])
def test_live_catalog_reports_changes(kind: str, url: str) -> None:
    real = McpServer("real", command=sys.executable, args=(str(SERVERS / "real.py"), "stdio"))
    server = {"2025-11-25": plain("changing"), "2026-07-28": real, "http": url}[kind]

    async def live() -> None:
        changes: asyncio.Queue[LoadedTools] = asyncio.Queue()
        async with LiveCatalog(server, changes.put_nowait) as catalog:
            before = catalog.loaded
            await grow(catalog)
            after = await next_change(changes)
            assert after == catalog.loaded
            assert len(after.tools) == len(before.tools) + 1
            assert after.tools[0].app == before.tools[0].app

    asyncio.run(live())


def test_live_catalog_raises_the_error_of_an_async_callback() -> None:
    called = asyncio.Event()

    async def on_change(loaded: LoadedTools) -> None:
        called.set()
        raise KeyError(len(loaded.tools))

    async def live() -> None:
        async with LiveCatalog(plain("changing"), on_change) as catalog:
            await grow(catalog)
            async with asyncio.timeout(60):
                await called.wait()

    with pytest.raises(KeyError, match="2"):
        asyncio.run(live())


def test_live_catalog_of_a_faulty_server_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async def live(server: McpServer, timeout: float) -> None:
        async with LiveCatalog(server, print, timeout=timeout):
            pass

    for server, timeout, reason in (
        (plain("dead"), 60, "exited"),
        (plain("silent"), 0.5, "0.5 seconds"),
        (plain("circle"), 60, "same page"),
    ):
        with caplog.at_level(logging.DEBUG, "contextune"), pytest.raises(ContextuneError, match=reason):
            asyncio.run(live(server, timeout))
    assert "SECRET" not in caplog.text
    with pytest.raises(InvalidDataError, match="takes one server"):
        LiveCatalog({"mcpServers": {}}, print)  # pyright: ignore[reportArgumentType]


def test_live_catalog_cancelled_while_it_connects_stops_the_server(tmp_path: Path) -> None:
    started = tmp_path / "started"
    mute = f"import pathlib, sys; pathlib.Path({str(started)!r}).touch(); sys.stdin.read()"
    server = McpServer("mute", command=sys.executable, args=("-c", mute))

    async def live() -> None:
        connecting = asyncio.create_task(LiveCatalog(server, print).__aenter__())
        async with asyncio.timeout(60):
            while not started.exists():
                await asyncio.sleep(0.02)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(live())


def test_exception_inside_a_live_catalog_is_raised() -> None:
    async def live() -> None:
        async with LiveCatalog(plain("good"), print):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        asyncio.run(live())


@pytest.mark.parametrize("missing", ["mcp", "mcp_types"])
def test_missing_or_old_sdk_is_an_error(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"contextune\[mcp\]"):
        load_mcp(plain("good"))
