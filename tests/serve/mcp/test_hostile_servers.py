"""Servers behind the gateway that try to stall it, to exhaust its memory, or to pose as others."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pytest
from mcp import Client
from tests.conftest import WordEmbedder
from tests.serve.mcp.gateway_talk import (
    be_patient,
    call,
    connect,
    make_gateway,
    mcp_json,
    received_calls,
    script_tools,
    scripted_entry,
    scripted_tool,
    search,
    text,
)
from tests.serve.waiting import PATIENCE

from contextune.embed import Embedder, Matrix
from contextune.serve.mcp import background_index
from contextune.serve.mcp import gateway as gateway_module
from contextune.serve.mcp.upstream_tools import check_arguments
from contextune.tools.definitions.schemas import load_schemas
from contextune.tools.mcp import load
from contextune.tools.mcp.approvals import ApprovalFile


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
            assert "Left out, as they cannot be used: 'a/evil' (its parameters" in found["note"]
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


def no_pause(*_: float) -> float:
    return 0.0


class SlowEmbedder(WordEmbedder):
    """Takes two milliseconds for each text of a batch."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        if len(texts) > 10:
            sleep(len(texts) / 500)
        return super().embed(texts)


@pytest.mark.parametrize("renames", [False, True], ids=["2,500 tools", "2,500 renamed"])
def test_large_restless_server_does_not_slow_the_searches_of_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, renames: bool
) -> None:
    """The second of them renames all its tools, so that thousands wait for approval."""
    monkeypatch.setattr(gateway_module, "_GRACE", 0.0)
    monkeypatch.setattr(background_index, "next_pause", no_pause)
    many = [scripted_tool(f"task_{number}") for number in range(2500)]
    own = (scripted_tool("water_plants"), scripted_tool("refresh"))
    servers = mcp_json(
        quiet=scripted_entry(folder, "quiet", *own),
        loud=scripted_entry(folder, "loud", scripted_tool("refresh")),
    )

    gateway = make_gateway(servers, embedder=SlowEmbedder())

    async def seconds_of_a_search(client: Client) -> float:
        start = perf_counter()
        await gateway._current_index()  # pyright: ignore[reportPrivateUsage]
        found = await search(client, "water plants")
        assert found["tools"][0]["name"] == "quiet/water_plants"
        return perf_counter() - start

    async def talk() -> None:
        async with connect(gateway) as client:
            async with asyncio.timeout(PATIENCE):
                while len(names_of(await search(client, "water plants", 20))) < 3:
                    await asyncio.sleep(0.02)
            script_tools(folder, "loud", scripted_tool("refresh"), *many)
            await call(client, "loud/refresh")
            during: list[float] = []
            async with asyncio.timeout(PATIENCE):
                while len((await gateway._current_index()).catalog) < 2500:  # pyright: ignore[reportPrivateUsage]
                    during.append(await seconds_of_a_search(client))
                if renames:
                    script_tools(
                        folder,
                        "loud",
                        scripted_tool("refresh"),
                        *(scripted_tool(f"job_{n}") for n in range(2500)),
                    )
                    await call(client, "loud/refresh")
                    while not gateway.refused_tools:
                        during.append(await seconds_of_a_search(client))
                    during += [await seconds_of_a_search(client) for _ in range(20)]
            assert max(during) < 2.5, "a search waited for the index, which takes 5 s to embed"

    asyncio.run(talk())


def names_of(found: dict[str, Any]) -> list[str]:
    return sorted(tool["name"] for tool in found["tools"])


def test_bare_name_stays_bound_while_its_server_is_down(folder: Path, word_embedder: Embedder) -> None:
    mail = scripted_entry(folder, "mail", scripted_tool("send_mail"), scripted_tool("down"))
    own = (scripted_tool("play"), scripted_tool("refresh"))
    servers = mcp_json(mail=mail, games=scripted_entry(folder, "games", *own))
    with ApprovalFile(folder / "approvals.db") as approvals:

        async def bind() -> None:
            gateway = make_gateway(servers, embedder=word_embedder, approvals=approvals)
            async with connect(gateway) as client:
                assert text(await call(client, "send_mail")) == "mail: send_mail"
                script_tools(folder, "games", *own, scripted_tool("send_mail"))
                await call(client, "refresh")
                async with asyncio.timeout(PATIENCE):
                    while "games/send_mail" not in names_of(await search(client, "send mail", 20)):
                        await asyncio.sleep(0.02)
                assert text(await call(client, "send_mail")) == "mail: send_mail"  # not ambiguous
                await call(client, "down")
                assert (await call(client, "send_mail")).is_error

        async def use_while_down() -> None:
            gateway = make_gateway(servers, embedder=word_embedder, approvals=approvals)
            async with connect(gateway) as client:
                found = names_of(await search(client, "send mail", 20))
                assert found == ["games/play", "games/refresh", "games/send_mail"]
                refused = await call(client, "send_mail")
                assert refused.is_error
                assert "means the tool 'mail/send_mail', which its server does not offer now" in text(refused)
                assert text(await call(client, "games/send_mail")) == "games: send_mail"

        asyncio.run(bind())
        asyncio.run(use_while_down())
    assert [name for name, _ in received_calls(folder, "games")] == ["refresh", "send_mail"]


def test_new_bare_name_needs_the_tools_of_all_servers(folder: Path, word_embedder: Embedder) -> None:
    (folder / "mail.down").touch()
    mail = scripted_entry(folder, "mail", scripted_tool("send_mail"))
    games = scripted_entry(folder, "games", scripted_tool("send_mail"), scripted_tool("mail/send_mail"))

    async def talk() -> None:
        gateway = make_gateway(mcp_json(mail=mail, games=games), embedder=word_embedder)
        async with connect(gateway) as client:
            refused = await call(client, "send_mail")
            assert refused.is_error
            assert text(refused) == (
                "the server 'mail' has not listed its tools, and may have a 'send_mail' too:"
                " use the id 'games/send_mail' if that one is meant"
            )
            posing = await call(client, "mail/send_mail")  # a bare name of games, but an id of mail
            assert posing.is_error
            assert "there is no tool 'mail/send_mail'" in text(posing)

    asyncio.run(talk())
    assert received_calls(folder, "games") == []


def test_tool_whose_id_reads_as_that_of_another_server_is_refused(
    folder: Path, word_embedder: Embedder
) -> None:
    (folder / "inner.down").touch()
    inner = scripted_entry(folder, "inner", scripted_tool("send"))
    outer = scripted_entry(folder, "outer", scripted_tool("inner/send"), scripted_tool("say"))

    async def talk() -> None:
        servers = {"mcpServers": {"outer": outer, "outer/inner": inner}}
        async with connect(make_gateway(servers, embedder=word_embedder)) as client:
            refused = await call(client, "outer/inner/send")
            assert refused.is_error
            assert "its id could be of another server" in text(refused)
            assert text(await call(client, "outer/say")) == "outer: say"

    asyncio.run(talk())


@pytest.mark.parametrize(
    "hidden", ["\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u2060", "\u3164", "\ufe0f"]
)
def test_name_with_invisible_characters_is_refused_and_shown_escaped(
    folder: Path, word_embedder: Embedder, hidden: str
) -> None:
    entry = scripted_entry(folder, "mail", scripted_tool("send"), scripted_tool(f"send{hidden}"))

    async def talk() -> None:
        async with connect(make_gateway(mcp_json(mail=entry), embedder=word_embedder)) as client:
            found = await search(client, "send", 20)
            assert names_of(found) == ["mail/send"]
            escaped = f"send\\u{ord(hidden):04x}"
            assert escaped in found["note"]
            assert hidden not in found["note"]
            assert (await call(client, f"mail/send{hidden}")).is_error

    asyncio.run(talk())
