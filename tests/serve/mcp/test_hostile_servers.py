"""Servers behind the gateway that try to stall it, to exhaust its memory, or to pose as others."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.serve.mcp.gateway_talk import (
    be_patient,
    call,
    connect,
    make_gateway,
    mcp_json,
    scripted_entry,
    scripted_tool,
    search,
    text,
)

from contextune.embed import Embedder
from contextune.serve.mcp import gateway as gateway_module
from contextune.serve.mcp.arguments import check_arguments
from contextune.tools.mcp import load
from contextune.tools.schemas import load_schemas


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    be_patient(monkeypatch)
    return tmp_path


def doubling_schema(levels: int) -> dict[str, Any]:
    """Definitions that each refer twice to the next."""
    definitions: dict[str, Any] = {f"a{levels}": {"type": "object"}}
    for level in range(levels):
        definitions[f"a{level}"] = {"allOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 2}
    return {"type": "object", "$defs": definitions, "$ref": "#/$defs/a0"}


def many_properties(count: int, **schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{n}": {"type": "string", **schema} for n in range(count)}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (doubling_schema(14), "over budget: the schema takes too long to check"),
        (doubling_schema(18), "over budget: the schema takes too long to check"),
        (many_properties(10_500, minLength=1), "over budget: the schema has more than 10,000 subschemas"),
        (many_properties(10_500), "over budget: the schema has more than 10,000 subschemas"),
        (many_properties(20_000, minLength=1), "at most 500,000"),
    ],
    ids=["14 levels", "18 levels", "many with keywords", "many simple", "too many characters"],
)
def test_schema_over_budget_costs_only_its_tool(
    folder: Path, word_embedder: Embedder, schema: dict[str, Any], reason: str
) -> None:
    tools = (scripted_tool("say"), scripted_tool("evil", inputSchema=schema))
    servers = mcp_json(a=scripted_entry(folder, "a", *tools))

    async def talk() -> None:
        async with connect(make_gateway(servers, embedder=word_embedder)) as client:
            found = await search(client, "say something evil", 20)
            assert [tool["name"] for tool in found["tools"]] == ["a/say"]
            assert "Left out, as they cannot be used: 'a/evil' its parameters" in found["note"]
            for name in ("a/evil", "evil"):
                refused = await call(client, name)
                assert refused.is_error
                assert text(refused).startswith("the tool 'a/evil' cannot be used: its parameters")
                assert reason in text(refused)
            assert text(await call(client, "say", text="hello")) == "a: say"

    asyncio.run(talk())


def test_schemas_are_checked_off_the_event_loop(
    folder: Path, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[str, threading.Thread] = {}

    def checking(*arguments: Any) -> None:
        threads["check"] = threading.current_thread()
        check_arguments(*arguments)

    def loading(*arguments: Any, **options: Any) -> Any:
        threads["load"] = threading.current_thread()
        return load_schemas(*arguments, **options)

    monkeypatch.setattr(gateway_module, "check_arguments", checking)
    monkeypatch.setattr(load, "load_schemas", loading)
    servers = mcp_json(a=scripted_entry(folder, "a", scripted_tool("say")))

    async def talk() -> None:
        async with connect(make_gateway(servers, embedder=word_embedder)) as client:
            assert text(await call(client, "say", text="hello")) == "a: say"

    asyncio.run(talk())
    assert threads.keys() == {"check", "load"}
    assert threading.current_thread() not in threads.values()
