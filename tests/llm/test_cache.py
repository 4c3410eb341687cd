"""Caching answers per user, and forgetting them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.llm.chat_server import ChatServer, said

from contextune.errors import LanguageModelError
from contextune.llm import CachedChat, Draft, EndpointChat, Message, Sampling
from contextune.llm.cache import CACHE_FILE, AnswerCache

SCHEMA = {"type": "object", "properties": {"number": {"type": "string"}}}
QUESTION = [Message("user", "When am I due?")]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def chat(server: ChatServer) -> EndpointChat:
    return EndpointChat("tiny", base_url=server.url, api_key="key", retries=0)


def test_second_answer_is_cached(server: ChatServer, chat: EndpointChat) -> None:
    cached = CachedChat(chat)
    sampling = Sampling(temperature=1, drafts=2)
    first, again = (cached.ask(QUESTION, sampling) for _ in range(2))
    assert again.drafts == first.drafts == (Draft("one"), Draft("two"))
    assert (first.prompt_tokens, again.prompt_tokens, again.completion_tokens) == (11, 0, 0)
    assert len(server.asked) == 1
    assert cached.name == chat.name


def test_every_part_of_the_prompt_is_in_the_key(server: ChatServer, chat: EndpointChat) -> None:
    cached = CachedChat(chat)
    cached.ask(QUESTION)
    cached.ask([Message("system", "Be brief."), *QUESTION])
    cached.ask([Message("assistant", QUESTION[0].content)])
    cached.ask(QUESTION, Sampling(max_tokens=9))
    cached.ask(QUESTION, Sampling(temperature=1, seed=4))
    cached.ask(QUESTION, schema=SCHEMA)
    cached.for_user("ines").ask(QUESTION)
    assert len(server.asked) == 7


def test_cached_draft_stays_incomplete(server: ChatServer, chat: EndpointChat) -> None:
    server.answer = lambda _: said("on", finish="length")
    cached = CachedChat(chat)
    assert [cached.ask(QUESTION).drafts[0].complete for _ in range(2)] == [False, False]


def test_errors_are_not_cached(server: ChatServer, chat: EndpointChat) -> None:
    cached = CachedChat(chat)
    server.answer = lambda _: (500, {})
    with pytest.raises(LanguageModelError):
        cached.ask(QUESTION)
    server.answer = None
    assert cached.ask(QUESTION).text == "one"


def test_nothing_is_written_without_a_folder(
    chat: EndpointChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    CachedChat(chat).ask(QUESTION)
    assert list(tmp_path.iterdir()) == []


def test_folder_is_persistent(server: ChatServer, chat: EndpointChat, tmp_path: Path) -> None:
    for _ in range(2):
        assert CachedChat(chat, folder=tmp_path).for_user("ines").ask(QUESTION).text == "one"
    assert len(server.asked) == 1
    content = (tmp_path / CACHE_FILE).read_bytes()
    assert b"one" in content
    assert QUESTION[0].content.encode() not in content


def test_forget_erases_a_user(server: ChatServer, chat: EndpointChat, tmp_path: Path) -> None:
    cached = CachedChat(chat, folder=tmp_path)
    ines, rui = cached.for_user("ines"), cached.for_user("rui")
    server.texts = ["for Ines"]
    ines.ask(QUESTION)
    server.texts = ["for Rui"]
    rui.ask(QUESTION)
    cached.forget("ines")
    content = (tmp_path / CACHE_FILE).read_bytes()
    assert b"for Ines" not in content
    assert b"for Rui" in content
    rui.ask(QUESTION)
    assert len(server.asked) == 2
    ines.ask(QUESTION)
    assert len(server.asked) == 3
    cached.forget()
    rui.ask(QUESTION)
    assert len(server.asked) == 4


def test_forgetting_no_user_keeps_other_users(tmp_path: Path) -> None:
    answers = AnswerCache(folder=tmp_path)
    answers.put("", "1", "of nobody")
    answers.put("rui", "1", "of Rui")
    answers.forget("")
    again = AnswerCache(folder=tmp_path)
    assert again.get("", "1") is None
    assert again.get("rui", "1") == "of Rui"
