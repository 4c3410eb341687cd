"""MCP servers, started and called for real: by stdio, by HTTP, well-behaved and not."""

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
    """The address of a server that runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, SERVERS / "real.py", "http", str(port)])
    try:
        for _ in range(600):
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
    said = Annotations(destructive=True, idempotent=False, open_world=False)
    assert tools["empty_kiln"].annotations == said
    assert [tools[name].title for name in ("book", "fire_kiln", "empty_kiln")] == ["", "Fire it", "Empty it"]


def test_over_stdio_all_pages() -> None:
    server = McpServer(command=sys.executable, args=(str(SERVERS / "real.py"), "stdio"))
    check_studio(load_mcp(server), "studio")


def test_over_http_all_pages(url: str) -> None:
    check_studio(load_tools(url), "studio")
    check_studio(load_tools(url, app="atelier"), "atelier")


def test_from_within_a_running_loop(url: str) -> None:
    async def notebook() -> LoadedTools:
        return load_mcp(url)

    check_studio(asyncio.run(notebook()), "studio")


def test_the_servers_of_a_file(tmp_path: Path, url: str) -> None:
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
    with pytest.raises(InvalidDataError, match="names of their own"):
        load_tools(file, app="x")


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_broken_tools_are_refused_and_the_rest_are_taken() -> None:
    loaded = load_mcp(plain("broken"))
    assert names(loaded) == ["good", "nothing_said"]
    good = loaded.tools[0]
    assert (good.id, good.about, good.examples) == ("plain/good", "", ())  # whatever the server would like
    assert [refused.name.removeprefix("plain/") for refused in loaded.refused] == [
        "a_list", "an_array", "odd_properties", "odd_type", "#6", "good", "no_schema", "odd_words", "#10"
    ]  # fmt: skip


def test_servers_that_offer_no_tools() -> None:
    assert load_mcp(plain("no-tools")) == LoadedTools(())


BAD: dict[str, tuple[McpServer, str]] = {
    "dead": (plain("dead"), "ended before it had answered"),
    "dying": (plain("dying"), "ended before it had answered"),
    "silent": (plain("silent"), "did not answer within 0.8 seconds"),
    "refusing": (plain("refusing"), "answers with error -32000"),
    "in circles": (plain("circle"), "in a circle"),
    "a mapping of tools": (plain("odd-list"), "a mapping where its tools should be"),
    "no list": (plain("odd-answer"), "not MCP"),
    "no command": (McpServer("plain", command="no-such-command"), "'no-such-command': No such file"),
    "no program": (McpServer("plain", command=str(SERVERS / "plain.py")), "Permission denied"),
    "no folder": (plain("good", cwd="no-such-folder"), "in 'no-such-folder'"),
    "nobody there": (McpServer("plain", url="http://127.0.0.1:9/mcp"), "cannot be reached"),
}


@pytest.mark.parametrize(("server", "reason"), BAD.values(), ids=BAD.keys())
def test_a_bad_server_is_refused_in_our_words(
    server: McpServer, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    loaded = load_mcp(server, timeout=0.8)
    assert loaded.tools == ()
    (refused,) = loaded.refused
    assert refused.name == "plain"
    assert reason in refused.reason
    assert "SECRET" not in f"{refused.reason}{capfd.readouterr()}"


def test_noise_is_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert names(load_mcp(plain("noisy"))) == ["one", "two"]
    assert "SECRET" not in str(capfd.readouterr())


class Web(BaseHTTPRequestHandler):
    """A web server that is no MCP server."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status = int(self.path.strip("/").split("?")[0])
        self.send_response(status)
        self.send_header("content-type", "text/html" if status == 200 else "text/plain")
        self.send_header("content-length", "6")
        self.end_headers()
        self.wfile.write(b"SECRET")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it
        """Say nothing."""


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "HTTP 401"), (404, "HTTP 404"), (503, "HTTP 503"), (200, "is an MCP server")]
)
def test_a_web_server_that_is_none(status: int, reason: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Web) as web:
        Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        (refused,) = load_tools(f"http://me:PASSWORD@127.0.0.1:{web.server_port}/{status}?key=KEY").refused
        web.shutdown()
    assert refused.name == "127.0.0.1"
    assert reason in refused.reason
    assert not any(secret in refused.reason for secret in ("SECRET", "PASSWORD", "KEY"))


def test_headers_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    class Noting(Web):
        def do_POST(self) -> None:
            seen.append(self.headers["X-Key"])
            super().do_POST()

    monkeypatch.setenv("STUDIO_KEY", "abc")
    with ThreadingHTTPServer(("127.0.0.1", 0), Noting) as web:
        Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        address = f"http://127.0.0.1:{web.server_port}/403"
        load_mcp({"mcpServers": {"a": {"url": address, "headers": {"X-Key": "k ${STUDIO_KEY}"}}}})
        web.shutdown()
    assert set(seen) == {"k abc"}


def test_secrets_do_not_show() -> None:
    server = McpServer("a", url="https://example.org?key=KEY", headers={"X": "TOKEN"})
    assert "KEY" not in repr(server)
    assert "TOKEN" not in repr(server)
    with pytest.raises(InvalidDataError, match="neither http"):
        McpServer("a", url="ftp://example.org")
    with pytest.raises(InvalidDataError, match="a command to start it, or the url"):
        McpServer("a")


async def until(heard: "asyncio.Queue[LoadedTools]") -> LoadedTools:
    async with asyncio.timeout(10):
        return await heard.get()


async def grow(live: LiveCatalog) -> None:
    connection = live._connection  # pyright: ignore[reportPrivateUsage]  # a catalogue calls no tools by itself
    assert connection
    await connection.client.call_tool("grow", {})


@pytest.mark.parametrize("kind", ["2025-11-25", "2026-07-28", "http"])
def test_a_live_catalogue_hears_of_changes(kind: str, url: str) -> None:
    real = McpServer("real", command=sys.executable, args=(str(SERVERS / "real.py"), "stdio"))
    server = {"2025-11-25": plain("changing"), "2026-07-28": real, "http": url}[kind]

    async def live() -> None:
        heard: asyncio.Queue[LoadedTools] = asyncio.Queue()
        async with LiveCatalog(server, heard.put_nowait) as catalog:
            before = catalog.loaded
            await grow(catalog)
            after = await until(heard)
            assert after == catalog.loaded
            assert len(after.tools) == len(before.tools) + 1
            assert after.tools[0].app == before.tools[0].app

    asyncio.run(live())


def test_a_live_catalogue_may_call_an_async_function_and_raises_what_it_raises() -> None:
    async def changed(loaded: LoadedTools) -> None:
        raise KeyError(len(loaded.tools))

    async def live() -> None:
        async with LiveCatalog(plain("changing"), changed) as catalog:
            await grow(catalog)
            await asyncio.sleep(0.2)

    with pytest.raises(KeyError, match="2"):
        asyncio.run(live())


def test_a_live_catalogue_of_a_bad_server(caplog: pytest.LogCaptureFixture) -> None:
    async def live(server: McpServer) -> None:
        async with LiveCatalog(server, print, timeout=0.5):
            pass

    for server, reason in (
        (plain("dead"), "ended"),
        (plain("silent"), "0.5 seconds"),
        (plain("circle"), "circle"),
    ):
        with caplog.at_level(logging.DEBUG, "contextune"), pytest.raises(ContextuneError, match=reason):
            asyncio.run(live(server))
    assert "SECRET" not in caplog.text
    with pytest.raises(InvalidDataError, match="of one server"):
        LiveCatalog({"mcpServers": {}}, print)  # pyright: ignore[reportArgumentType]


def test_what_is_raised_within_a_live_catalogue_is_raised() -> None:
    async def live() -> None:
        async with LiveCatalog(plain("good"), print):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        asyncio.run(live())


@pytest.mark.parametrize("missing", ["mcp", "mcp_types"])
def test_without_the_sdk_or_with_an_old_one(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"contextune\[mcp\]"):
        load_mcp(plain("good"))
