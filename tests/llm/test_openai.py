"""`EndpointChat` with complete and with limited servers."""

import json
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from tests.llm.chat_server import ChatServer, said
from tests.openai_server import Reply as HttpReply

from contextune.errors import LanguageModelError
from contextune.llm import Draft, EndpointChat, Message, Sampling

SECRET = "the diagnosis of Dr. Okonkwo"
MESSAGES = [Message("system", "Be brief."), Message("user", "Say a number.")]
SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "string", "maxLength": 9}},
    "required": ["number"],
    "additionalProperties": False,
}
WORDS = "Answer with JSON alone, without any other text, that fits this JSON Schema"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def chat(server: ChatServer, *, retries: int = 0, **options: Any) -> EndpointChat:
    return EndpointChat("tiny", base_url=server.url, api_key="key", retries=retries, **options)


def test_answers(server: ChatServer) -> None:
    reply = chat(server).ask(MESSAGES)
    assert reply.drafts == (Draft("one"),)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("one", 11, 1)
    (asked,) = server.asked
    assert asked.pop("path") == "/v1/chat/completions"
    assert asked.pop("key") == "Bearer key"
    assert asked == {
        "model": "tiny",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Say a number."},
        ],
        "temperature": 0,
        "max_tokens": 256,
    }


def test_sampling_is_sent(server: ChatServer) -> None:
    sampling = Sampling(temperature=0.7, top_p=0.9, top_k=40, drafts=3, seed=1, max_tokens=9)
    reply = chat(server).ask(MESSAGES, sampling)
    assert [draft.text for draft in reply.drafts] == ["two", "three", "four"]
    assert chat(server).ask(MESSAGES, sampling) == reply
    sent = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "n": 3, "seed": 1, "max_tokens": 9}
    assert {name: server.asked[0][name] for name in sent} == sent


def test_options_override_sampling(server: ChatServer) -> None:
    options = {
        "max_tokens": None,
        "max_completion_tokens": 9,
        "temperature": 1,
        "extra_headers": {"X": SECRET},
    }
    told = chat(server, options=options)
    told.ask(MESSAGES)
    (asked,) = server.asked
    assert "max_tokens" not in asked
    assert (asked["max_completion_tokens"], asked["temperature"]) == (9, 1)
    assert told.name != chat(server).name == f"{server.url}/#tiny"
    assert SECRET not in told.name


def test_server_with_one_draft_per_request(server: ChatServer) -> None:
    server.answer = lambda body: server.well({**body, "n": 1})
    reply = chat(server).ask(MESSAGES, Sampling(temperature=1, drafts=3))
    assert [draft.text for draft in reply.drafts] == ["one", "two", "three"]
    assert (reply.prompt_tokens, reply.completion_tokens) == (33, 3)


def test_server_that_rejects_n(server: ChatServer) -> None:
    server.answer = lambda body: (400, {}) if body.get("n", 1) > 1 else server.well(body)
    reply = chat(server).ask(MESSAGES, Sampling(temperature=1, drafts=3))
    assert [draft.text for draft in reply.drafts] == ["one", "two", "three"]
    assert len(server.asked) == 4


def test_surplus_drafts_are_dropped(server: ChatServer) -> None:
    server.answer = lambda _: said("one", "two", "three")
    assert len(chat(server).ask(MESSAGES, Sampling(drafts=2)).drafts) == 2


def test_cut_off_draft_is_incomplete(server: ChatServer) -> None:
    server.answer = lambda _: said("on", finish="length")
    assert chat(server).ask(MESSAGES).drafts == (Draft("on", complete=False),)


def test_draft_without_text_is_requested_again(server: ChatServer) -> None:
    server.answer = lambda _: said("one", None) if len(server.asked) == 1 else said("two")
    reply = chat(server).ask(MESSAGES, Sampling(temperature=1, drafts=2))
    assert [draft.text for draft in reply.drafts] == ["one", "two"]


def test_schema_is_sent(server: ChatServer) -> None:
    reply = chat(server).ask(MESSAGES, Sampling(temperature=1, drafts=2), schema=SCHEMA)
    assert [json.loads(draft.text) for draft in reply.drafts] == [{"number": "one"}, {"number": "two"}]
    assert server.asked[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }
    loose = {"type": "object", "properties": {"number": {"type": "string"}}}
    chat(server).ask(MESSAGES, schema=loose)
    assert server.asked[1]["response_format"]["json_schema"]["strict"] is False


@pytest.mark.parametrize(
    "answer", ['{"number": "9"}', '```json\n{"number": "9"}\n```', '<think>x</think> {"number": "9"}']
)
def test_server_that_ignores_schemas(server: ChatServer, answer: str) -> None:
    server.answer = lambda body: said(answer if WORDS in body["messages"][-1]["content"] else "one")
    assert chat(server).ask(MESSAGES, schema=SCHEMA).text == '{"number": "9"}'
    first, second = (asked["messages"][-1]["content"] for asked in server.asked)
    assert first == "Say a number."
    assert second == f"{first}\n\n{WORDS}: {json.dumps(SCHEMA)}"


def test_rejected_schema_is_not_sent_again(server: ChatServer) -> None:
    server.answer = lambda body: (400, {}) if "response_format" in body else said('{"number": "9"}')
    asker = chat(server)
    for _ in range(2):
        assert asker.ask(MESSAGES, schema=SCHEMA).text == '{"number": "9"}'
    assert ["response_format" in asked for asked in server.asked] == [True, False, False]


def test_invalid_drafts_are_dropped(server: ChatServer) -> None:
    server.answer = lambda _: said('{"number": 1}', '{"number": "9"}', '{"numb')
    reply = chat(server).ask(MESSAGES, Sampling(drafts=3), schema=SCHEMA)
    assert reply.drafts == (Draft('{"number": "9"}'),)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (said(SECRET), "it is not JSON"),
        (said(json.dumps({"number": f"{SECRET}"})), "it breaks properties/number/maxLength"),
        (said(json.dumps({SECRET: 1, "number": "9"})), "it breaks additionalProperties"),
        (said('{"number": "', finish="length"), "cut off: raise `max_tokens`"),
        (said("[" * 100_000), "it is not JSON"),
    ],
)
def test_no_valid_draft_is_an_error(server: ChatServer, reply: HttpReply, why: str) -> None:
    server.answer = lambda _: reply
    with pytest.raises(LanguageModelError, match=why) as caught:
        chat(server).ask(MESSAGES, schema=SCHEMA)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("schema", [{"type": "number of things"}, {"$ref": "http://127.0.0.1:1/schema"}])
def test_invalid_schema_is_an_error(server: ChatServer, schema: dict[str, Any]) -> None:
    server.answer = lambda _: said("1")
    with pytest.raises(LanguageModelError, match="by this JSON Schema"):
        chat(server).ask(MESSAGES, schema=schema)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_retries(server: ChatServer, status: int) -> None:
    server.answer = lambda _: (status, {}) if len(server.asked) < 3 else said("one")
    assert chat(server, retries=2).ask(MESSAGES).text == "one"


BAD: dict[str, tuple[HttpReply, str]] = {
    "refused": ((401, {"error": {"message": SECRET}}), "HTTP 401"),
    "not understood": ((400, {"error": {"message": SECRET}}), "HTTP 400"),
    "a web page": ((200, b"<html>" + SECRET.encode()), "is not a chat completion"),
    "malformed": ((200, b'{"choices": [' + SECRET.encode()), "127.0.0.1"),
    "a list": ((200, [SECRET]), "is not a chat completion"),
    "null": ((200, None), "is not a chat completion"),
    "null choices": ((200, {"choices": None}), "is not a chat completion"),
    "no choices": ((200, {"choices": []}), "is not a chat completion"),
    "no message": ((200, {"choices": [{"index": 0}]}), "is not a chat completion"),
    "no text": (said(None), "has no text"),
    "parts": (said([{"type": "text", "text": SECRET}]), "has no text"),
}


@pytest.mark.parametrize(("reply", "reason"), BAD.values(), ids=BAD.keys())
def test_invalid_response_is_an_error(server: ChatServer, reply: HttpReply, reason: str) -> None:
    server.answer = lambda _: reply
    with pytest.raises(LanguageModelError, match=reason) as caught:
        chat(server).ask([Message("user", SECRET)], Sampling(drafts=2))
    assert server.url in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_invalid_token_counts_are_zero(server: ChatServer) -> None:
    server.answer = lambda _: said("one", usage={"prompt_tokens": None, "completion_tokens": "many"})
    reply = chat(server).ask(MESSAGES)
    assert (reply.prompt_tokens, reply.completion_tokens) == (0, 0)


def test_timeout(server: ChatServer) -> None:
    def slow(body: dict[str, Any]) -> HttpReply:
        server.released.wait(10)
        return said("one")

    server.answer = slow
    with pytest.raises(LanguageModelError, match="timed out"):
        chat(server, timeout=0.1).ask(MESSAGES)
    server.released.set()


def test_lone_surrogates_are_replaced(server: ChatServer) -> None:
    chat(server).ask([Message("user", "caf\udce9 😀")])
    assert server.asked[0]["messages"][0]["content"] == "caf� 😀"


def test_is_thread_safe(server: ChatServer) -> None:
    asker, texts = chat(server), list[str]()
    server.answer = lambda body: said(body["messages"][0]["content"].upper())

    def ask(word: str) -> None:
        texts.append(asker.ask([Message("user", word)]).text)

    threads = [Thread(target=ask, args=[word]) for word in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts) == list("ABCDEFGH")


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -1}, {"top_p": 0}, {"top_p": 1.1}, {"top_k": -1}, {"drafts": 0}, {"max_tokens": 0}],
)
def test_invalid_sampling_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(LanguageModelError, match=str(next(iter(wrong)))):
        Sampling(**wrong)


def test_empty_messages_are_an_error(server: ChatServer) -> None:
    with pytest.raises(LanguageModelError, match="no messages"):
        chat(server).ask([])
