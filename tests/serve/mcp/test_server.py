"""The MCP server with the official client: in process, over stdio and over HTTP."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from tests.serve.waiting import PATIENCE, free_port, wait_for_port
from typer.testing import CliRunner

from contextune import Tuner
from contextune._internal.assets import asset
from contextune.cli import app
from contextune.datasets import load_persona, read_persona
from contextune.embed import Embedder
from contextune.errors import ContextuneError, InvalidRequestError, MissingExtraError
from contextune.plan import Policy
from contextune.serve.mcp.http_transport import address, http_app, listen
from contextune.serve.mcp.lazy_tuner import CancellableProgress, LazyTuner
from contextune.serve.mcp.server import mcp_server
from contextune.store import SQLiteStore
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.types import Progress, User

PROGRAM = Path(sys.executable).with_name("contextune")
SERVER = Path(__file__).with_name("gateway_plain.py")
REQUEST = {"text": "Play what I run to", "time": "2024-05-16T17:40", "place": "home"}
TOKEN = "a-token-of-thirty-two-characters"


@pytest.fixture
def persona(store: SQLiteStore) -> str:
    loaded = read_persona(asset("personas/a01.json"))
    load_persona(store, loaded)
    return loaded.id


@asynccontextmanager
async def connect(store: SQLiteStore, user: str, embedder: Embedder) -> AsyncGenerator[Client]:
    tuner = LazyTuner(
        lambda progress: Tuner(
            store, embedder=embedder, tools=ToolRetriever(bundled_toolbox(), embedder), progress=progress
        )
    )
    async with Client(mcp_server(user, tuner)) as client:
        yield client


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def call(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool; the client itself validates the output against the schema."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text(result)
    assert json.loads(text(result)) == result.structured_content
    return result.structured_content


def test_tool_listing(store: SQLiteStore, persona: str, word_embedder: Embedder) -> None:
    async def session() -> None:
        async with connect(store, persona, word_embedder) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == ["find_context", "find_tools", "plan", "feedback"]
            for tool in tools.values():
                assert tool.title
                assert tool.description
                assert tool.output_schema
                assert tool.annotations
                assert tool.annotations.read_only_hint == (tool.name != "feedback")
                assert tool.annotations.destructive_hint is False
                assert tool.input_schema["additionalProperties"] is False
                assert "user" not in tool.input_schema["properties"]
                assert "title" not in tool.input_schema["properties"]["text"]
            assert (
                "title" in (tools["find_context"].output_schema or {})["$defs"]["ContextItem"]["properties"]
            )

    asyncio.run(session())


def test_find_context_find_tools_and_plan(store: SQLiteStore, persona: str, word_embedder: Embedder) -> None:
    async def session() -> None:
        async with connect(store, persona, word_embedder) as client:
            found = await call(client, "find_context", {**REQUEST, "k": 3})
            known = {item.id: item for item in store.items(persona)}
            assert [known[item["id"]].title for item in found["items"]] == [
                item["title"] for item in found["items"]
            ]
            assert len(found["items"]) == 3
            assert all(item["why"] and item["text"] for item in found["items"])
            small = await call(client, "find_context", {**REQUEST, "k": 3, "tokens": 50})
            assert len(json.dumps(small)) < len(json.dumps(found))
            tools = await call(client, "find_tools", {**REQUEST, "text": "play_album Kind of Blue", "k": 2})
            assert tools["tools"][0]["name"].endswith("/play_album")
            assert tools["tools"][0]["why"]
            history = [{"speaker": "user", "text": "Is there a mail of the clinic?"}]
            planned = await call(client, "plan", {"text": "search_emails about it", "history": history})
            (step,) = planned["steps"]
            tool = next(one for one in bundled_toolbox() if one.id == step["tool"])
            assert step["arguments"].keys() <= tool.parameters["properties"].keys()
            assert step["why"].keys() == step["arguments"].keys()
            assert planned["decision"] == step["decision"]
            assert planned["ready"] == (step["decision"] == "act")
            assert ("question" in step) == (step["decision"] != "act")
            assert 0 <= step["confidence"] <= 1

    asyncio.run(session())


@pytest.mark.parametrize(
    ("policy", "decisions"),
    [
        ("act.read=0,act.write=0,act.send=0,none=2", {"act", "ask"}),
        ("act.read=2,act.write=2,act.send=2,none=2", {"confirm", "ask"}),
        ("none=0", {"none"}),
    ],
)
def test_plan_follows_the_policy(
    store: SQLiteStore, persona: str, word_embedder: Embedder, policy: str, decisions: set[str]
) -> None:
    tools = ToolRetriever(bundled_toolbox(), word_embedder)
    tuner = LazyTuner(
        lambda progress: Tuner(
            store, embedder=word_embedder, tools=tools, policy=Policy.parse(policy), progress=progress
        )
    )

    async def session() -> dict[str, Any]:
        async with Client(mcp_server(persona, tuner)) as client:
            return await call(client, "plan", {**REQUEST, "text": "play_album Kind of Blue"})

    planned = asyncio.run(session())
    (step,) = planned["steps"]
    assert {planned["decision"], step["decision"]} <= decisions
    assert planned["ready"] == (planned["decision"] == "act")
    if not planned["ready"]:
        assert step["question"]
        assert planned["note"]
        assert all(option["tool"] for option in step.get("options", ()))


def test_feedback_is_stored(store: SQLiteStore, persona: str, word_embedder: Embedder) -> None:
    item = store.items(persona)[0].id
    uses = len(store.uses(persona, item=item))

    async def session() -> None:
        async with connect(store, persona, word_embedder) as client:
            outcome = {**REQUEST, "used": [item], "tool": "play_album", "ok": False}
            assert await call(client, "feedback", outcome) == {"kept": True}
            wrong = await client.call_tool("feedback", {**REQUEST, "used": ["no such thing"]})
            assert wrong.is_error
            assert "has no item 'no such thing'" in text(wrong)

    asyncio.run(session())
    (kept,) = store.feedback(persona)
    assert (kept.used, kept.ok, kept.request.place) == ((item,), False, "home")
    assert (kept.tool or "").endswith("/play_album")
    assert len(store.uses(persona, item=item)) == uses + 1


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "text: Field required"),
    ({"text": ""}, "text: String should have at least 1 character"),
    ({"text": "  "}, "no text"),
    ({"text": "SECRET", "user": "somebody"}, "user: Extra inputs are not permitted"),
    ({"text": "x", "time": "tomorrow"}, "write it as 2024-05-16T17:40"),
    ({"text": "x", "place": "99,10"}, "not a coordinate"),
    ({"text": "x", "k": 0}, "k: Input should be greater than or equal to 1"),
    ({"text": "x", "history": [{"text": "SECRET"}]}, "history.0.speaker: Field required"),
]


def test_invalid_arguments_are_errors_without_their_values(
    store: SQLiteStore, persona: str, word_embedder: Embedder
) -> None:
    async def session() -> None:
        async with connect(store, persona, word_embedder) as client:
            for arguments, reason in WRONG:
                refused = await client.call_tool("find_context", arguments)
                assert refused.is_error
                assert reason in text(refused)
                assert "SECRET" not in text(refused)
            with pytest.raises(MCPError, match="no such tool: 'forget'"):
                await client.call_tool("forget", {})
            store.forget(persona)
            gone = await client.call_tool("find_context", REQUEST)
            assert gone.is_error
            assert persona in text(gone)

    asyncio.run(session())


def test_internal_errors_are_logged_without_their_message(
    store: SQLiteStore, persona: str, word_embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(progress: object) -> Tuner:
        raise KeyError("SECRET")

    async def session() -> None:
        async with Client(mcp_server(persona, LazyTuner(broken))) as client:
            failed = await client.call_tool("find_context", {"text": "SECRET"})
            assert failed.is_error
            assert text(failed).startswith("find_context failed with KeyError")
            assert "SECRET" not in text(failed)

    asyncio.run(session())
    assert "find_context failed with KeyError" in caplog.text
    assert "SECRET" not in caplog.text


def test_server_is_listed_without_the_modules_that_answer() -> None:
    code = (
        "import sys, contextune.serve.mcp.server as server, contextune.serve.mcp.lazy_tuner as lazy;"
        "server.mcp_server('ines', lazy.LazyTuner(None));"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "mcp.server" in modules
    heavy = {"contextune.tuner", "contextune.context", "contextune.plan", "contextune.tools", "numpy"}
    assert not {"lightgbm", "onnxruntime", "scipy", *heavy} & modules


def test_models_load_before_the_client_connects(store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("ines"))
    store.put_items("ines", read_persona(asset("personas/a01.json")).items[:2])
    lazy = LazyTuner(lambda progress: Tuner(store, embedder=word_embedder, progress=progress))
    tuner = lazy.start("ines").result(PATIENCE)  # without an event loop
    assert tuner.preparation("ines").ready == 2
    assert asyncio.run(lazy()) is tuner
    lazy.close()


def test_failed_build_is_tried_again(store: SQLiteStore, word_embedder: Embedder) -> None:
    failures = [InvalidRequestError("no model")]

    def build(progress: Progress) -> Tuner:
        if failures:
            raise failures.pop()
        return Tuner(store, embedder=word_embedder, progress=progress)

    lazy = LazyTuner(build)
    with pytest.raises(InvalidRequestError, match="no model"):
        asyncio.run(lazy())
    assert isinstance(asyncio.run(lazy()), Tuner)
    lazy.close()


def test_cancelled_progress_aborts_the_job() -> None:
    progress_callback = CancellableProgress()
    progress_callback(1, 2)
    progress_callback.cancel()
    with pytest.raises(Exception, match="cancelled after 1 of 2"):
        progress_callback(1, 2)


def test_server_without_user_and_gateway_is_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="nothing to serve"):
        mcp_server()


def test_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "contextune.serve.mcp.tool")
    with pytest.raises(MissingExtraError, match=r"contextune\[mcp\]"):
        __import__("contextune.serve.mcp.tool")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of user ines, and an mcp.json with one server."""
    folder = tmp_path_factory.mktemp("home")
    with SQLiteStore(folder / "me.db") as store:
        store.put_user(User("ines"))
        loaded = read_persona(asset("personas/a01.json"))
        store.put_items("ines", loaded.items[:3])
    servers = {"hall": {"command": sys.executable, "args": [str(SERVER), "hall", "3", str(folder)]}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
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
    found = await call(client, "find_context", {"text": "What was in that mail, naïve café — 你好?", "k": 2})
    assert len(found["items"]) == 2
    none = await call(client, "search_tools", {"query": "translate this contract into Portuguese"})
    assert "Probably none of the tools there are serves this" in none["note"]
    found = await call(client, "search_tools", {"query": "the ficus needs water", "k": 3})
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
