"""Embeddings over HTTP, from correct and faulty servers."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.openai_server import OpenAIServer, Reply

from contextune.embed import EndpointEmbedder
from contextune.errors import EmbedderError, MissingExtraError

SECRET = "the diagnosis of Dr. Okonkwo"


def vector(text: str) -> list[float]:
    """Not of unit length, and different for every text."""
    return [3.0 + len(text), float(sum(map(ord, text)) % 101), 7.0]


def entry(index: int, embedding: Any) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": embedding}


def list_reply(data: list[dict[str, Any]]) -> Reply:
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, {"object": "list", "data": data, "model": "tiny", "usage": usage}


def good(texts: list[str]) -> Reply:
    return list_reply([entry(index, vector(text)) for index, text in enumerate(texts)])


class Server(OpenAIServer):
    """Serves `/v1/embeddings`; tests replace `answer` to simulate faulty servers."""

    answer: Callable[[list[str]], Reply] = staticmethod(good)

    def reply(self, body: dict[str, Any]) -> Reply:
        return self.answer(body["input"])


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def embedder(server: Server) -> EndpointEmbedder:
    return EndpointEmbedder("tiny", base_url=server.url, api_key="key", retries=0)


def unit(texts: list[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    rows = np.array([vector(text) for text in texts], np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_request_and_vectors(server: Server, embedder: EndpointEmbedder) -> None:
    rows = embedder.embed(["tea", "mælk"])
    assert rows.dtype == np.float32
    assert np.allclose(rows, unit(["tea", "mælk"]))
    (request,) = server.asked
    assert request["path"] == "/v1/embeddings"
    assert request["key"] == "Bearer key"
    assert request["model"] == "tiny"
    assert request["input"] == ["tea", "mælk"]


def test_many_texts_are_sent_in_batches(server: Server, embedder: EndpointEmbedder) -> None:
    texts = [f"text {number}" for number in range(300)]
    assert np.allclose(embedder.embed(texts), unit(texts))
    assert [len(request["input"]) for request in server.asked] == [128, 128, 44]


def test_no_texts(server: Server, embedder: EndpointEmbedder) -> None:
    assert len(embedder.embed([])) == 0
    assert server.asked == []


def test_lone_surrogates_are_replaced(server: Server, embedder: EndpointEmbedder) -> None:
    assert len(embedder.embed(["caf\udce9", "\ud83d\ude00"])) == 2
    assert server.asked[0]["input"] == ["caf\ufffd", "😀"]


def test_vectors_are_ordered_by_index(server: Server, embedder: EndpointEmbedder) -> None:
    def shuffled(texts: list[str]) -> Reply:
        status, reply = good(texts)
        reply["data"] = reply["data"][1::2] + reply["data"][::2]
        return status, reply

    server.answer = shuffled
    texts = [f"text {number}" for number in range(150)]
    assert np.allclose(embedder.embed(texts), unit(texts))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_retries_on_server_error(server: Server, status: int) -> None:
    server.answer = lambda texts: (status, {}) if len(server.asked) < 3 else good(texts)
    embedder = EndpointEmbedder("tiny", base_url=server.url, api_key="key", retries=2)
    assert np.allclose(embedder.embed(["tea"]), unit(["tea"]))
    assert len(server.asked) == 3


def test_error_after_the_last_retry(server: Server) -> None:
    server.answer = lambda _: (500, {})
    embedder = EndpointEmbedder("tiny", base_url=server.url, api_key="key", retries=1)
    with pytest.raises(EmbedderError, match="HTTP 500"):
        embedder.embed(["tea"])
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_client_error_is_not_retried(server: Server, embedder: EndpointEmbedder, status: int) -> None:
    server.answer = lambda texts: (status, {"error": {"message": f"not this: {texts}"}})
    with pytest.raises(EmbedderError, match=f"HTTP {status}; check the URL, the key, the model 'tiny'"):
        embedder.embed(["tea"])
    assert len(server.asked) == 1


TWO = [entry(0, [1.0, 0.0]), entry(1, [0.0, 1.0])]
BAD: dict[str, Reply] = {
    "echo": (400, {"error": {"message": f"cannot embed {SECRET!r}"}}),
    "plain echo": (400, SECRET.encode()),
    "too few": list_reply(TWO[:1]),
    "too many": list_reply([*TWO, entry(2, [1.0, 1.0])]),
    "none": list_reply([]),
    "numbered twice": list_reply([TWO[0], TWO[0]]),
    "numbered from one": list_reply([entry(1, [1.0, 0.0]), entry(2, [0.0, 1.0])]),
    "not numbered": list_reply([{"embedding": [1.0, 0.0]}, {"embedding": [0.0, 1.0]}]),
    "not a number": list_reply([TWO[0], entry(1, [float("nan"), 1.0])]),
    "null": list_reply([TWO[0], entry(1, [None, 1.0])]),
    "infinite": list_reply([TWO[0], entry(1, [float("inf"), 1.0])]),
    "zero": list_reply([TWO[0], entry(1, [0.0, 0.0])]),
    "empty vectors": list_reply([entry(0, []), entry(1, [])]),
    "different lengths": list_reply([TWO[0], entry(1, [0.0, 1.0, 2.0])]),
    "words": list_reply([TWO[0], entry(1, [SECRET, "b"])]),
    "base64": list_reply([entry(0, "AACAPwAAAEA="), entry(1, "AACAPwAAAEA=")]),
    "no vector": list_reply([TWO[0], {"index": 1}]),
    "something else": (200, {"echo": SECRET}),
    "a list": (200, [SECRET]),
    "nothing": (200, None),
    "broken": (200, b'{"data": [' + SECRET.encode()),
    "a web page": (200, b"<html>" + SECRET.encode()),
}


@pytest.mark.parametrize("reply", BAD.values(), ids=BAD.keys())
def test_invalid_reply_is_refused_without_quoting_it(
    server: Server, embedder: EndpointEmbedder, reply: Reply
) -> None:
    server.answer = lambda _: reply
    with pytest.raises(EmbedderError) as caught:
        embedder.embed([SECRET, "tea"])
    assert server.url in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None  # a traceback would show the text
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_timeout(server: Server) -> None:
    def slow(texts: list[str]) -> Reply:
        server.released.wait(10)
        return good(texts)

    server.answer = slow
    embedder = EndpointEmbedder("tiny", base_url=server.url, api_key="key", retries=0, timeout=0.1)
    with pytest.raises(EmbedderError, match="timed out; check the URL"):
        embedder.embed(["tea"])
    server.released.set()


def test_unreachable_server() -> None:
    with Server() as gone:
        url = gone.url
    embedder = EndpointEmbedder("tiny", base_url=url, api_key="key", retries=0)
    with pytest.raises(EmbedderError, match="failed: Connection error; check the URL"):
        embedder.embed(["tea"])


def test_missing_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(EmbedderError, match=r"not configured.*OPENAI_API_KEY"):
        EndpointEmbedder("tiny")


def test_malformed_url_is_refused() -> None:
    with pytest.raises(EmbedderError, match="not configured"):
        EndpointEmbedder("tiny", base_url="http://[::1/v1", api_key="key")


def test_configured_by_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    assert np.allclose(EndpointEmbedder("tiny", retries=0).embed(["tea"]), unit(["tea"]))
    assert server.asked[0]["key"] == "Bearer other"


def test_name() -> None:
    names = {
        EndpointEmbedder(model, base_url=url, api_key="key").name
        for model in ("small", "large")
        for url in ("http://one/v1", "http://other/v1")
    }
    assert len(names) == 4


def test_name_contains_no_password() -> None:
    embedder = EndpointEmbedder("tiny", base_url="http://ana:hunter2@localhost/v1", api_key="key")
    assert embedder.name == "http://localhost/v1/#tiny"


def test_missing_openai_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"contextune\[llm\]"):
        EndpointEmbedder("tiny", api_key="key")
