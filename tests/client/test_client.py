"""`Client` and `AsyncClient` against a live service."""

import asyncio
import importlib
import sys
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import httpx
import pytest
from tests.serve.conftest import LiveService, running

from contextune import Contact, InvalidRequestError, Item, MissingExtraError, UsageEvent, User
from contextune.client import (
    AsyncClient,
    Client,
    ConnectionFailedError,
    InvalidBodyError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
    clients,
)
from contextune.serve.http.tokens import TokenFile

USER = User(
    "ignored",
    {"name": "Ines"},
    {"home": (41.1, -8.6)},
    (Contact("Marta", email="marta@example.org", relation="sister"),),
    ZoneInfo("Europe/Lisbon"),
)
MAIL = Item.mail(id="m1", subject="Kiln slots", author="marta@example.org", date="2024-05-13T09:00")
NOTE = Item.note(id="n1", title="Bread", content="Flour, water, salt", modified="2024-05-12T10:00")
TIME = datetime(2024, 5, 16, 17, 40)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    with running(tmp_path_factory.mktemp("service")) as live_service:
        yield live_service


@pytest.fixture
def token(service: LiveService) -> str:
    assert service.settings.tokens is not None
    return TokenFile(service.settings.tokens).add("ines")


class Unavailable(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers the first requests with 503, and passes the others on to the service."""

    def __init__(self, times: int, code: str = "busy", seconds: str = "3") -> None:
        self.left, self.sent = times, 0
        self._code, self._seconds = code, seconds
        self._sync, self._async = httpx.HTTPTransport(), httpx.AsyncHTTPTransport()

    def _refuse(self) -> httpx.Response | None:
        self.sent += 1
        self.left -= 1
        if self.left < 0:
            return None
        detail: dict[str, object] = {
            "code": self._code,
            "message": "too many requests",
            "where": [],
            "request": "r1",
        }
        return httpx.Response(503, json={"error": detail}, headers={"Retry-After": self._seconds})

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._refuse() or self._sync.handle_request(request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self._refuse() or await self._async.handle_async_request(request)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(clients, "sleep", waits.append)
    monkeypatch.setattr(clients, "async_sleep", wait)
    return waits


def test_every_method(service: LiveService, token: str) -> None:
    with Client(service.url, token, timeout=300) as client:
        assert client.health()["status"] == "ok"
        client.put_me(USER)
        assert client.me()["contacts"][0]["relation"] == "sister"
        assert client.me()["zone"] == "Europe/Lisbon"
        assert client.put_items([MAIL, NOTE]) == 2
        assert [item["id"] for item in client.all_items()] == ["m1", "n1"]
        assert client.items(app="Notes", limit=1)["total"] == 1
        assert client.put_uses([UsageEvent("m1", TIME)]) == 1
        assert client.uses()["uses"][0]["item"] == "m1"

        text = "Did my sister write about the kiln?"
        answer = client.ask(text, time=TIME, place="home", history=[("user", "Hello")])
        assert answer["context"][0]["item"]["id"] == "m1"
        assert answer["request"]["place"] == "home"
        assert client.context(text, time=TIME, k=1)[0]["item"]["id"] == "m1"
        first = client.ask("Remind me to fire the kiln tomorrow at 9", time=TIME)
        corrected = client.ask("make it 10", time=TIME, state=first["state"])
        assert corrected["reply"] == {"kind": "corrected", "text": ""}
        assert corrected["plan"] is not None
        assert corrected["plan"]["arguments"]["due_time"]["value"].endswith("T10:00")
        tools = client.tools(text, time="2024-05-16T17:40", k=2)
        assert len(tools["tools"]) == 2
        plan = client.plan(text, time=TIME, tools=[tools["tools"][0]["id"]])
        assert plan is None or plan["tool"] == tools["tools"][0]["id"]

        client.feedback(text, used=["m1"], rejected=["n1"], time=datetime(2024, 5, 16, 17, 41))
        assert client.uses()["total"] == 2
        assert client.delete_items(["n1", "none"]) == 1
        client.forget()
        with pytest.raises(NotFoundError, match="unknown user: PUT /v1/me first"):
            client.me()


def test_every_method_of_the_async_client(service: LiveService, token: str) -> None:
    async def use() -> None:
        async with AsyncClient(service.url, token, timeout=300) as client:
            assert (await client.health())["status"] == "ok"
            await client.put_me(USER)
            assert (await client.me())["profile"] == {"name": "Ines"}
            assert await client.put_items([MAIL, NOTE]) == 2
            assert [item["id"] async for item in client.all_items()] == ["m1", "n1"]
            assert await client.put_uses([UsageEvent("m1", TIME)]) == 1
            assert (await client.ask("The kiln?", time=TIME))["context"][0]["item"]["id"] == "m1"
            assert (await client.context("The kiln?", time=TIME))[0]["item"]["id"] == "m1"
            assert (await client.tools("Play Chopin", k=1))["tools"][0]["id"].startswith("Music/")
            assert await client.plan("Play Chopin")
            await client.feedback("The kiln?", used=["m1"])
            assert (await client.uses())["total"] == 2
            assert (await client.items())["total"] == 2
            assert await client.delete_items(["n1"]) == 1
            await client.forget()
            with pytest.raises(NotFoundError):
                await client.me()

    asyncio.run(use())


def test_errors_are_typed_and_have_the_message_of_the_service(service: LiveService, token: str) -> None:
    with Client(service.url, "ctx_00_00", timeout=300) as nobody, pytest.raises(UnauthorizedError) as info:
        nobody.me()
    assert (info.value.status, info.value.code) == (401, "unauthorized")
    assert "creates tokens" in str(info.value)
    assert info.value.request_id
    with Client(service.url, token, timeout=300) as client:
        client.put_me()
        with pytest.raises(InvalidBodyError, match="unknown item or invalid time"):
            client.put_uses([UsageEvent("none", TIME)])
        with pytest.raises(InvalidRequestError, match="text: String should have at least 1 character"):
            client.ask("")
        with pytest.raises(InvalidRequestError, match="k: Input should be less than or equal to 100"):
            client.context("Hello", k=101)


def test_refused_calls_are_repeated_when_the_service_says(
    service: LiveService, token: str, waits: list[float]
) -> None:
    transport = Unavailable(2)
    with Client(service.url, token, timeout=300, transport=transport) as client:
        client.put_me()
        assert (transport.sent, waits) == (3, [3.0, 3.0])

    async def use() -> None:
        async with AsyncClient(service.url, token, timeout=300, transport=Unavailable(1)) as client:
            assert await client.me()

    asyncio.run(use())
    assert waits == [3.0, 3.0, 3.0]


@pytest.mark.parametrize(
    ("transport", "attempts"),
    [(Unavailable(9), 3), (Unavailable(9, seconds="60"), 1), (Unavailable(9, seconds="soon"), 1)],
    ids=["too often", "too long", "no time"],
)
def test_client_gives_up(
    service: LiveService, token: str, waits: list[float], transport: Unavailable, attempts: int
) -> None:
    with (
        Client(service.url, token, transport=transport) as client,
        pytest.raises(UnavailableError, match="too many requests"),
    ):
        client.me()
    assert (transport.sent, len(waits)) == (attempts, attempts - 1)


def test_feedback_that_may_be_stored_is_not_sent_twice(
    service: LiveService, token: str, waits: list[float]
) -> None:
    transport = Unavailable(1, code="timed_out")
    with Client(service.url, token, transport=transport) as client, pytest.raises(UnavailableError):
        client.feedback("The kiln?", used=["m1"])
    assert (transport.sent, waits) == (1, [])


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "contextune.client.clients")
    with pytest.raises(MissingExtraError, match=r"contextune\[client\]"):
        importlib.import_module("contextune.client.clients")


def test_missing_service_and_invalid_settings_are_errors() -> None:
    with (
        Client("http://127.0.0.1:9", "ctx_00_00") as client,
        pytest.raises(ConnectionFailedError, match="the connection failed"),
    ):
        client.health()
    with pytest.raises(InvalidRequestError, match="not a URL"):
        Client("localhost:8765", "ctx_00_00")
    with pytest.raises(InvalidRequestError, match="token"):
        Client("http://localhost:8765", " ")


def test_calls_on_a_connection_that_was_ended_are_repeated_once() -> None:
    paths: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        if len(paths) == 1:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        return httpx.Response(200, json={"id": "me"})

    with Client("http://service", "ctx_token", transport=httpx.MockTransport(answer)) as client:
        assert client.me() == {"id": "me"}
    assert paths == ["/v1/me"] * 2
