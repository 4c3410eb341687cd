"""The MCP server with the official client, in one process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client, MCPError
from tests.serve.mcp.gateway_talk import call_structured, text

from contextune import Tuner
from contextune._internal.assets import asset
from contextune.datasets import load_persona, read_persona
from contextune.embed import Embedder
from contextune.errors import InvalidRequestError, MissingExtraError
from contextune.plan import Policy
from contextune.serve.mcp.lazy_tuner import LazyTuner
from contextune.serve.mcp.server import mcp_server
from contextune.store import SQLiteStore
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.types import Contact

REQUEST = {"text": "Play what I run to", "time": "2024-05-16T17:40", "place": "home"}


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
    async with Client(mcp_server(user, tuner, planned_tools="catalog")) as client:
        yield client


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


def test_find_context_has_the_people_that_are_meant(
    store: SQLiteStore, persona: str, word_embedder: Embedder
) -> None:
    user = store.user(persona)
    joe = Contact("Joe Pike", "joe@example.org", "555-0104", None, {"note": "The plumber.\nPaid in cash."})
    store.put_user(replace(user, contacts=(*user.contacts, joe)))

    async def session() -> None:
        async with connect(store, persona, word_embedder) as client:
            found = await call_structured(client, "find_context", {"text": "what's the plumber's number"})
            assert found["people"][0] == {
                "name": "Joe Pike",
                "addresses": ["joe@example.org", "555-0104"],
                "about": "The plumber. Paid in cash.",
            }

    asyncio.run(session())


def test_find_context_find_tools_and_plan(store: SQLiteStore, persona: str, word_embedder: Embedder) -> None:
    async def session() -> None:
        async with connect(store, persona, word_embedder) as client:
            found = await call_structured(client, "find_context", {**REQUEST, "k": 3})
            known = {item.id: item for item in store.items(persona)}
            assert [known[item["id"]].title for item in found["items"]] == [
                item["title"] for item in found["items"]
            ]
            assert len(found["items"]) == 3
            assert all(item["why"] and item["text"] for item in found["items"])
            small = await call_structured(client, "find_context", {**REQUEST, "k": 3, "tokens": 50})
            assert len(json.dumps(small)) < len(json.dumps(found))
            tools = await call_structured(
                client, "find_tools", {**REQUEST, "text": "play_album Kind of Blue", "k": 2}
            )
            assert tools["tools"][0]["name"].endswith("/play_album")
            assert tools["tools"][0]["why"]
            history = [{"speaker": "user", "text": "Is there a mail of the clinic?"}]
            planned = await call_structured(
                client, "plan", {"text": "search_emails about it", "history": history}
            )
            (step,) = planned["steps"]
            tool = next(one for one in bundled_toolbox() if one.id == step["tool"])
            assert step["arguments"].keys() <= tool.parameters["properties"].keys()
            assert step["why"].keys() == step["arguments"].keys()
            assert planned["decision"] == step["decision"]
            assert planned["ready"] == (step["decision"] == "act")
            assert ("question" in step) == (step["decision"] != "act")
            assert 0 <= step["confidence"] <= 1

    asyncio.run(session())


def test_only_context_and_feedback_are_served_by_default(
    store: SQLiteStore, persona: str, word_embedder: Embedder
) -> None:
    tuner = LazyTuner(lambda progress: Tuner(store, embedder=word_embedder, progress=progress))

    async def session() -> None:
        async with Client(mcp_server(persona, tuner)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["find_context", "feedback"]
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == [
                "answer_from_my_data"
            ]
            with pytest.raises(MCPError, match="no such tool: 'plan'"):
                await client.call_tool("plan", REQUEST)
            # a tool of the client, which this server does not know
            outcome = {**REQUEST, "tool": "player__play"}
            assert await call_structured(client, "feedback", outcome) == {"kept": True}

    asyncio.run(session())
    assert [kept.tool for kept in store.feedback(persona)] == ["player__play"]


def test_plan_with_the_tools_that_the_client_passes(
    store: SQLiteStore, persona: str, word_embedder: Embedder
) -> None:
    tuner = LazyTuner(lambda progress: Tuner(store, embedder=word_embedder, progress=progress))
    album = {"type": "object", "properties": {"album": {"type": "string"}}, "required": ["album"]}
    tools = [
        {
            "name": "player__play_album",
            "description": "Play an album.",
            "inputSchema": album,
            "annotations": {"readOnlyHint": True},
            "outputSchema": {},
        },
        {"name": "lamp__switch", "description": "Switch a lamp on or off."},
    ]

    async def session() -> dict[str, Any]:
        async with Client(mcp_server(persona, tuner, planned_tools="passed")) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["find_context", "plan", "feedback"]
            refused = await client.call_tool("plan", REQUEST)
            assert "tools: Field required" in text(refused)
            request = {**REQUEST, "text": "play the album Kind of Blue", "tools": tools}
            return await call_structured(client, "plan", request)

    planned = asyncio.run(session())
    assert {step["tool"] for step in planned["steps"]} <= {"player__play_album", "lamp__switch"}
    assert planned["steps"][0]["tool"] == "player__play_album"


@pytest.mark.parametrize(
    ("policy", "decisions"),
    [
        ("act.read=0,act.write=0,act.send=0,none=2", {"act", "confirm", "ask"}),
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
        async with Client(mcp_server(persona, tuner, planned_tools="catalog")) as client:
            return await call_structured(client, "plan", {**REQUEST, "text": "play_album Kind of Blue"})

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
            assert await call_structured(client, "feedback", outcome) == {"kept": True}
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


def test_server_without_user_and_gateway_is_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="nothing to serve"):
        mcp_server()


def test_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "contextune.serve.mcp.tool")
    with pytest.raises(MissingExtraError, match=r"contextune\[mcp\]"):
        __import__("contextune.serve.mcp.tool")
