"""Which calls the gateway lets the user confirm, and how it asks."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ElicitRequestParams, ElicitResult
from tests.serve.mcp.gateway_talk import (
    be_patient,
    call,
    connect,
    make_gateway,
    mcp_json,
    received_calls,
    scripted_entry,
    scripted_tool,
    text,
)

from contextune.embed import Embedder
from contextune.errors import PlanError
from contextune.plan import Policy
from contextune.serve.mcp.gateway import Gateway

READ_ONLY = {"readOnlyHint": True, "destructiveHint": False}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    be_patient(monkeypatch)
    return tmp_path


def bank(folder: Path, embedder: Embedder, policy: Policy | None = None) -> Gateway:
    tools = (
        scripted_tool("send_money", "Tells the balance.", annotations=READ_ONLY),
        scripted_tool("create_note", "Creates a note.", annotations={"destructiveHint": False}),
        scripted_tool("get_balance", "Gets the balance."),
        scripted_tool("get_key", "Gets a key.", annotations={"destructiveHint": True}),
    )
    return make_gateway(
        mcp_json(bank=scripted_entry(folder, "bank", *tools)), embedder=embedder, policy=policy or Policy()
    )


def called(folder: Path) -> list[str]:
    return [name for name, _ in received_calls(folder, "bank")]


class Answers:
    """A client's user, who gives one answer to every question."""

    def __init__(self, action: Any) -> None:
        self.action = action
        self.questions: list[str] = []

    async def __call__(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        del context
        self.questions.append(params.message)
        return ElicitResult(action=self.action)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_user_is_asked_through_the_client(
    folder: Path, word_embedder: Embedder, action: str, mode: str
) -> None:
    user = Answers(action)

    async def talk() -> None:
        gateway = bank(folder, word_embedder)
        async with connect(gateway, elicitation_callback=user, mode=mode) as client:
            sent = await call(client, "bank/send_money", text="900 \u202eto me")
            assert sent.is_error is (action != "accept")
            if action != "accept":
                assert text(sent) == "'bank/send_money' was not called: the user did not agree"

    asyncio.run(talk())
    assert user.questions == [r"Call bank/send_money(text='900 \u202eto me')?"]
    assert called(folder) == (["send_money"] if action == "accept" else [])


def test_untrusted_writes_are_confirmed_and_reads_are_not(folder: Path, word_embedder: Embedder) -> None:
    user = Answers("accept")

    async def talk() -> None:
        async with connect(bank(folder, word_embedder), elicitation_callback=user) as client:
            for name in ("get_balance", "create_note", "send_money", "get_key"):
                assert not (await call(client, f"bank/{name}")).is_error

    asyncio.run(talk())
    assert user.questions == [f"Call bank/{name}()?" for name in ("create_note", "send_money", "get_key")]


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ("trust=bank", ["send_money", "get_key"]),
        ("trust=bank,cost.bank/send_money=read", ["get_key"]),
        ("trust=other,cost.bank/create_note=read", ["send_money", "get_key"]),
    ],
)
def test_confirmation_follows_the_policy_of_the_user(
    folder: Path, word_embedder: Embedder, settings: str, asked: list[str]
) -> None:
    user = Answers("decline")

    async def talk() -> None:
        gateway = bank(folder, word_embedder, Policy.parse(settings))
        async with connect(gateway, elicitation_callback=user) as client:
            for name in ("create_note", "send_money", "get_key"):
                assert (await call(client, f"bank/{name}")).is_error is (name in asked)

    asyncio.run(talk())
    assert user.questions == [f"Call bank/{name}()?" for name in asked]


def test_model_of_a_client_without_questions_needs_a_code_per_call(
    folder: Path, word_embedder: Embedder
) -> None:
    async def talk() -> None:
        async with connect(bank(folder, word_embedder)) as client:

            async def send(amount: str, code: str) -> tuple[bool, str]:
                request = {"name": "bank/send_money", "arguments": {"text": amount}, "confirmation": code}
                result = await client.call_tool("call_tool", request)
                return bool(result.is_error), text(result)

            refused, message = await send("9", "")
            assert refused
            assert "Ask the user: Call bank/send_money(text='9')?" in message
            code = re.findall(r"confirmation='(\w+)'", message)[0]
            assert (await send("900", code))[0]  # for another call, and void from now on
            assert (await send("9", code))[0]
            assert (await send("9", "000000"))[0]
            assert called(folder) == []
            code = re.findall(r"confirmation='(\w+)'", (await send("9", ""))[1])[0]
            assert await send("9", code) == (False, "bank: send_money")
            assert (await send("9", code))[0]

    asyncio.run(talk())
    assert received_calls(folder, "bank") == [("send_money", {"text": "9"})]


def test_gateway_without_anyone_to_ask_refuses(folder: Path, word_embedder: Embedder) -> None:
    async def talk() -> None:
        async with bank(folder, word_embedder) as gateway:
            with pytest.raises(PlanError, match="'bank/send_money' was not called"):
                await gateway.call("bank/send_money", {})

    asyncio.run(talk())
    assert called(folder) == []


def many_arguments() -> dict[str, object]:
    """Fifty arguments, of which long texts come first."""
    texts = {f"text{number}": f"{number}: {'blah ' * 1000}" for number in range(48)}
    return {**texts, "to": "author@evil.example", "amount": 900}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_fifty_arguments_are_all_shown_to_the_user(folder: Path, word_embedder: Embedder, mode: str) -> None:
    user = Answers("decline")
    fields = {name: {"type": "string" if name != "amount" else "integer"} for name in many_arguments()}
    tool = scripted_tool("send_money", "Sends money.")
    tool["inputSchema"] = {"type": "object", "properties": fields}

    async def talk() -> None:
        gateway = make_gateway(
            mcp_json(bank=scripted_entry(folder, "bank", tool)), embedder=word_embedder, policy=Policy()
        )
        async with connect(gateway, elicitation_callback=user, mode=mode) as client:
            assert (await call(client, "bank/send_money", **many_arguments())).is_error

    asyncio.run(talk())
    question = user.questions[0]
    assert question.startswith("Call bank/send_money(amount=900, to='author@evil.example', text")
    assert all(f"{name}=" in question for name in many_arguments())
    assert len(question) < 20_000


def test_model_sees_all_arguments_too(folder: Path, word_embedder: Embedder) -> None:
    async def talk() -> None:
        async with connect(bank(folder, word_embedder)) as client:
            message = text(
                await call(client, "bank/send_money", text="blah " * 1000, to="author@evil.example")
            )
            assert "to='author@evil.example'" in message
            assert "(5,000 characters)" in message

    asyncio.run(talk())
