"""Asking for valid JSON: retries, truncation, cache, metering."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm.chat_server import ChatServer, said
from tests.openai_server import Reply as HttpReply

from contextune.errors import InvalidDataError, LanguageModelError
from contextune.llm import ChatReply, Draft, EndpointChat, Message
from contextune_lab.generate import (
    CostMeter,
    MeteredChat,
    MeteredEndpoint,
    NoValidAnswerError,
    Price,
    TokensSpent,
    ValidJsonWriter,
)

ASKED = [Message("system", "Be brief."), Message("user", "Name a fruit.")]
FRUIT = {
    "type": "object",
    "properties": {"fruit": {"type": "string"}},
    "required": ["fruit"],
    "additionalProperties": False,
}
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def fruits(server: ChatServer, *answers: HttpReply | str) -> None:
    """Script the answers of the server."""
    said_so_far = iter(answers)

    def answer(_: dict[str, Any]) -> HttpReply:
        one = next(said_so_far)
        return said(json.dumps({"fruit": one}), usage=USAGE) if isinstance(one, str) else one

    server.answer = answer


def writer(server: ChatServer, folder: Path, meter: CostMeter | None = None, **how: Any) -> ValidJsonWriter:
    chat = MeteredEndpoint("tiny", meter or CostMeter(), base_url=server.url, api_key="key", retries=2)
    return ValidJsonWriter(chat, folder, **how)


def not_plum(answer: dict[str, Any]) -> list[str]:
    return ["no plums today"] if answer["fruit"] == "plum" else []


def test_valid_answer_is_returned(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "fig")
    assert writer(server, tmp_path, seed=5).write("a", ASKED, FRUIT, check=not_plum, most=77) == {
        "fruit": "fig"
    }
    (asked,) = server.asked
    assert (asked["temperature"], asked["max_tokens"], asked["seed"]) == (0.9, 77, 5)
    assert asked["response_format"]["json_schema"]["strict"] is True


def test_exact_answers_use_temperature_zero(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "fig")
    writer(server, tmp_path).write("a", ASKED, FRUIT, exact=True)
    assert server.asked[0]["temperature"] == 0


def test_invalid_answer_is_asked_for_again_with_faults(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "plum", "fig")
    assert writer(server, tmp_path).write("a", ASKED, FRUIT, check=not_plum) == {"fruit": "fig"}
    *first, answer, mend = server.asked[1]["messages"]
    assert first == server.asked[0]["messages"]
    assert json.loads(answer["content"]) == {"fruit": "plum"}
    assert "- no plums today" in mend["content"]


def test_truncated_answer_gets_more_tokens(server: ChatServer, tmp_path: Path) -> None:
    cut = said('{"fruit": "fi', finish="length", usage=USAGE)
    fruits(server, cut, cut, "fig")
    meter = CostMeter()
    assert writer(server, tmp_path, meter).write("a", ASKED, FRUIT, most=50) == {"fruit": "fig"}
    assert [body["max_tokens"] for body in server.asked] == [50, 50, 100]
    assert "seed" in server.asked[2]
    assert server.asked[2]["seed"] != server.asked[0]["seed"]
    assert meter.spent == TokensSpent(3, 30, 15)


def test_never_valid_answer_raises(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "plum", "plum")
    with pytest.raises(
        NoValidAnswerError, match=r"^a/b: no valid answer from .*#tiny in 2 tries: .*no plums today"
    ):
        writer(server, tmp_path, tries=2).write("a/b", ASKED, FRUIT, check=not_plum)


def test_second_run_uses_the_cache(server: ChatServer, tmp_path: Path) -> None:
    broken = said("{", usage=USAGE)
    fruits(server, broken, broken, "plum", "fig")
    assert writer(server, tmp_path).write("a", ASKED, FRUIT, check=not_plum) == {"fruit": "fig"}
    assert writer(server, tmp_path).write("a", ASKED, FRUIT, check=not_plum) == {"fruit": "fig"}
    assert len(server.asked) == 4


def test_cached_answer_is_checked_again(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "plum", "fig")
    assert writer(server, tmp_path).write("a", ASKED, FRUIT) == {"fruit": "plum"}
    assert writer(server, tmp_path).write("a", ASKED, FRUIT, check=not_plum) == {"fruit": "fig"}


def test_forgotten_answer_is_asked_for_again(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "fig", "kiwi", "pear")
    asking = writer(server, tmp_path)
    assert [asking.write(name, ASKED, FRUIT)["fruit"] for name in ("a", "b")] == ["fig", "kiwi"]
    asking.forget("a")
    assert [asking.write(name, ASKED, FRUIT)["fruit"] for name in ("a", "b")] == ["pear", "kiwi"]


def test_busy_server_is_retried_then_reported(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, (429, {}), (503, {}), "fig")
    assert writer(server, tmp_path).write("a", ASKED, FRUIT) == {"fruit": "fig"}
    server.answer = lambda _: (429, {})
    with pytest.raises(LanguageModelError, match="HTTP 429") as error:
        writer(server, tmp_path).write("b", ASKED, FRUIT)
    assert not isinstance(error.value, NoValidAnswerError)


def test_stopped_writer_sends_no_request(server: ChatServer, tmp_path: Path) -> None:
    asking = writer(server, tmp_path)
    asking.stop.set()
    with pytest.raises(LanguageModelError, match="run the same command again to continue"):
        asking.write("a", ASKED, FRUIT)
    assert server.asked == []


def test_cost_of_tokens() -> None:
    spent = TokensSpent(3, 1_500_000, 200_000) + TokensSpent(1, 500_000, 0)
    assert spent == TokensSpent(4, 2_000_000, 200_000)
    assert spent.summary() == "4 answers, 2,000,000 tokens read and 200,000 written"
    assert spent.summary(Price(0.5, 10)) == f"{spent.summary()}: 3.00"
    with pytest.raises(InvalidDataError, match="invalid price"):
        Price(-1, 0)


def test_metered_chat_counts_tokens(server: ChatServer) -> None:
    meter = CostMeter()
    chat = MeteredChat(EndpointChat("tiny", base_url=server.url, api_key="key"), meter)
    chat.ask(ASKED)
    chat.ask(ASKED)
    assert chat.name.endswith("#tiny")
    assert meter.spent == TokensSpent(2, 22, 2)


def test_totals_of_earlier_runs_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    first = CostMeter(folder)
    first.add(ChatReply((Draft("fig"),), 10, 5))
    assert (first.before, first.spent) == (TokensSpent(), TokensSpent(1, 10, 5))
    second = CostMeter(folder)
    second.add(ChatReply((Draft("fig"),), 1, 1))
    assert (second.before, second.spent) == (TokensSpent(1, 10, 5), TokensSpent(1, 1, 1))
    assert CostMeter(folder).before == TokensSpent(2, 11, 6)
    (folder / "spent.json").write_text("what?")
    assert CostMeter(folder).before == TokensSpent()
