"""Asking until it is right: what is broken, cut off or wrong is asked for again, and nothing twice."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm.chat_server import ChatServer, said
from tests.openai_server import Reply as HttpReply

from contextune.errors import InvalidDataError, LanguageModelError
from contextune.lab.generate import (
    CostMeter,
    MeteredChat,
    MeteredEndpoint,
    NoValidAnswerError,
    Price,
    TokensSpent,
    ValidJsonWriter,
)
from contextune.llm import ChatReply, Draft, EndpointChat, Message

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
    """Have the server say these, one after the other."""
    said_so_far = iter(answers)

    def answer(_: dict[str, Any]) -> HttpReply:
        one = next(said_so_far)
        return said(json.dumps({"fruit": one}), usage=USAGE) if isinstance(one, str) else one

    server.answer = answer


def scribe(server: ChatServer, folder: Path, meter: CostMeter | None = None, **how: Any) -> ValidJsonWriter:
    chat = MeteredEndpoint("tiny", meter or CostMeter(), base_url=server.url, api_key="key", retries=2)
    return ValidJsonWriter(chat, folder, **how)


def not_plum(answer: dict[str, Any]) -> list[str]:
    return ["no plums today"] if answer["fruit"] == "plum" else []


def test_what_is_right_is_given(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "fig")
    assert scribe(server, tmp_path, seed=5).write("a", ASKED, FRUIT, check=not_plum, most=77) == {
        "fruit": "fig"
    }
    (asked,) = server.asked
    assert (asked["temperature"], asked["max_tokens"], asked["seed"]) == (0.9, 77, 5)
    assert asked["response_format"]["json_schema"]["strict"] is True


def test_exact_answers_are_the_likeliest(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "fig")
    scribe(server, tmp_path).write("a", ASKED, FRUIT, exact=True)
    assert server.asked[0]["temperature"] == 0


def test_what_is_wrong_is_told_and_asked_for_again(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "plum", "fig")
    assert scribe(server, tmp_path).write("a", ASKED, FRUIT, check=not_plum) == {"fruit": "fig"}
    *first, answer, mend = server.asked[1]["messages"]
    assert first == server.asked[0]["messages"]
    assert json.loads(answer["content"]) == {"fruit": "plum"}
    assert "- no plums today" in mend["content"]


def test_what_is_cut_off_gets_more_room(server: ChatServer, tmp_path: Path) -> None:
    cut = said('{"fruit": "fi', finish="length", usage=USAGE)
    fruits(server, cut, cut, "fig")
    meter = CostMeter()
    assert scribe(server, tmp_path, meter).write("a", ASKED, FRUIT, most=50) == {"fruit": "fig"}
    assert [body["max_tokens"] for body in server.asked] == [50, 50, 100]
    assert "seed" in server.asked[2]
    assert server.asked[2]["seed"] != server.asked[0]["seed"]
    assert meter.spent == TokensSpent(3, 30, 15)


def test_what_is_never_right(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "plum", "plum")
    with pytest.raises(
        NoValidAnswerError, match=r"^a/b: 2 answers of .*#tiny were of no use, .* no plums today"
    ):
        scribe(server, tmp_path, tries=2).write("a/b", ASKED, FRUIT, check=not_plum)


def test_nothing_is_asked_twice_in_another_run(server: ChatServer, tmp_path: Path) -> None:
    broken = said("{", usage=USAGE)
    fruits(server, broken, broken, "plum", "fig")
    assert scribe(server, tmp_path).write("a", ASKED, FRUIT, check=not_plum) == {"fruit": "fig"}
    assert scribe(server, tmp_path).write("a", ASKED, FRUIT, check=not_plum) == {"fruit": "fig"}
    assert len(server.asked) == 4


def test_a_remembered_answer_is_held_against_the_rules_of_today(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "plum", "fig")
    assert scribe(server, tmp_path).write("a", ASKED, FRUIT) == {"fruit": "plum"}
    assert scribe(server, tmp_path).write("a", ASKED, FRUIT, check=not_plum) == {"fruit": "fig"}


def test_what_is_forgotten_is_asked_again(server: ChatServer, tmp_path: Path) -> None:
    fruits(server, "fig", "kiwi", "pear")
    asking = scribe(server, tmp_path)
    assert [asking.write(name, ASKED, FRUIT)["fruit"] for name in ("a", "b")] == ["fig", "kiwi"]
    asking.forget("a")
    assert [asking.write(name, ASKED, FRUIT)["fruit"] for name in ("a", "b")] == ["pear", "kiwi"]


def test_a_server_that_is_busy_is_waited_for_and_one_that_stays_so_is_told(
    server: ChatServer, tmp_path: Path
) -> None:
    fruits(server, (429, {}), (503, {}), "fig")
    assert scribe(server, tmp_path).write("a", ASKED, FRUIT) == {"fruit": "fig"}
    server.answer = lambda _: (429, {})
    with pytest.raises(LanguageModelError, match="HTTP 429") as told:
        scribe(server, tmp_path).write("b", ASKED, FRUIT)
    assert not isinstance(told.value, NoValidAnswerError)


def test_once_stopped_nothing_is_asked(server: ChatServer, tmp_path: Path) -> None:
    asking = scribe(server, tmp_path)
    asking.stop.set()
    with pytest.raises(LanguageModelError, match="run the same command again to go on"):
        asking.write("a", ASKED, FRUIT)
    assert server.asked == []


def test_costs() -> None:
    spent = TokensSpent(3, 1_500_000, 200_000) + TokensSpent(1, 500_000, 0)
    assert spent == TokensSpent(4, 2_000_000, 200_000)
    assert spent.told() == "4 answers, 2,000,000 tokens read and 200,000 written"
    assert spent.told(Price(0.5, 10)) == f"{spent.told()}: 3.00"
    with pytest.raises(InvalidDataError, match="is no price"):
        Price(-1, 0)


def test_any_model_is_metered(server: ChatServer) -> None:
    meter = CostMeter()
    chat = MeteredChat(EndpointChat("tiny", base_url=server.url, api_key="key"), meter)
    chat.ask(ASKED)
    chat.ask(ASKED)
    assert chat.name.endswith("#tiny")
    assert meter.spent == TokensSpent(2, 22, 2)


def test_what_earlier_runs_took_is_known(tmp_path: Path) -> None:
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
