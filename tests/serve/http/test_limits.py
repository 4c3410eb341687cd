"""Limits: rate, body size, queue, timeouts and quota."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.serve.conftest import NO_LIMITS, LiveService, client_with_token, mail, running
from tests.serve.waiting import PATIENCE

from contextune.errors import InvalidDataError
from contextune.serve.hosts import AllowedHosts
from contextune.serve.http.credentials import FileCredentials
from contextune.serve.http.limits import RateLimiter
from contextune.serve.http.middleware import RequestMiddleware
from contextune.serve.http.observability import ServiceMetrics, Tracer
from contextune.serve.http.settings import ServiceLimits, ServiceSettings
from contextune.serve.http.tokens import TokenFile


def test_bucket_refills_at_the_rate_up_to_the_burst() -> None:
    now = [0.0]
    rates = RateLimiter(2.0, 3, clock=lambda: now[0])
    assert [rates.take("a") for _ in range(5)] == [0, 0, 0, 1, 1]
    assert rates.take("b") == 0  # another token
    now[0] = 0.5
    assert [rates.take("a"), rates.take("a")] == [0, 1]
    now[0] = 100.0
    assert [rates.take("a") for _ in range(4)] == [0, 0, 0, 1]  # capped at the burst


def test_expensive_requests_take_more() -> None:
    now = [0.0]
    rates = RateLimiter(1.0, 20, clock=lambda: now[0])
    assert [rates.take("a", 10), rates.take("a", 10), rates.take("a", 10)] == [0, 0, 10]
    now[0] = 20.0
    assert rates.take("a", 1000) == 0  # counts as a whole bucket


def test_limits_must_be_positive() -> None:
    for name in ("rate", "burst", "body", "timeout", "waiting", "max_wait", "items", "uses"):
        with pytest.raises(InvalidDataError, match="must be above 0"):
            ServiceLimits(**{name: 0})


def test_settings_round_trip_as_json(tmp_path: Path) -> None:
    settings = ServiceSettings(
        tmp_path / "s.db",
        tmp_path / "t",
        tmp_path / "c",
        3,
        ServiceLimits(1.5, 2, 3, 4.5, 5, 6, 7),
        "none=0.6",
        ("example.org",),
        tmp_path / "ranker",
    )
    assert ServiceSettings.from_json(settings.to_json()) == settings
    plain = ServiceSettings(tmp_path / "s.db", tmp_path / "t")
    assert ServiceSettings.from_json(plain.to_json()) == plain


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    limits = ServiceLimits(rate=0.0001, burst=3, body=1000, timeout=PATIENCE)
    with running(tmp_path_factory.mktemp("strict"), limits) as live_service:
        yield live_service


def test_rate_limit_is_per_token_with_retry_after(strict: LiveService) -> None:
    with strict.client("ines") as ines, strict.client("otto") as otto:
        responses = [ines.get("/v1/me") for _ in range(5)]
        assert [response.status_code for response in responses] == [404, 404, 404, 429, 429]
        assert 1000 < int(responses[-1].headers["Retry-After"]) <= 10_000
        assert responses[-1].json()["error"]["code"] == "too_often"
        assert otto.get("/v1/me").status_code == 404


def test_large_body_is_413(strict: LiveService) -> None:
    with strict.client("ines") as ines:
        plain = ines.put("/v1/me", content=b" " * 1001)
        assert (plain.status_code, plain.json()["error"]["code"]) == (413, "too_large")
        parts = ines.put("/v1/me", content=iter([b" " * 400] * 4))  # chunked, without Content-Length
        assert (parts.status_code, parts.json()["error"]["code"]) == (413, "too_large")
        assert "1000 bytes" in parts.json()["error"]["message"]


def test_body_that_does_not_arrive_is_408(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    middleware = RequestMiddleware(
        unreachable_app,
        credentials=FileCredentials(tokens, ServiceLimits()),
        hosts=AllowedHosts(),
        limits=ServiceLimits(timeout=0.05),
        metrics=ServiceMetrics(lambda: 0),
        tracer=Tracer(),
    )
    headers = [(b"authorization", f"Bearer {tokens.add('ines')}".encode()), (b"content-length", b"500")]
    sent: list[Any] = []

    async def receive() -> Any:
        return await asyncio.Event().wait()  # forever

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "PUT", "path": "/v1/me", "headers": headers}
    asyncio.run(middleware(scope, receive, send))
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"]["code"] == "too_slow"


async def unreachable_app(scope: object, receive: object, send: object) -> None:
    raise AssertionError("the request must not get here")


def test_unauthenticated_body_is_not_read(strict: LiveService) -> None:
    address = urlsplit(strict.url)
    with socket.create_connection((address.hostname or "", address.port or 0), PATIENCE) as connection:
        connection.sendall(
            b"PUT /v1/me HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n"
        )  # the body is never sent
        assert connection.recv(1000).startswith(b"HTTP/1.1 401")


def test_body_of_a_public_path_is_not_read(strict: LiveService) -> None:
    address = urlsplit(strict.url)
    for path in ("/health", "/openapi.json", "/metrics"):
        with socket.create_connection((address.hostname or "", address.port or 0), PATIENCE) as connection:
            head = f"GET {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n"
            connection.sendall(head.encode())  # the body is never sent
            assert connection.recv(1000).startswith(b"HTTP/1.1 200"), path


def test_large_headers_are_rejected(strict: LiveService) -> None:
    # the service may close the connection before everything is sent
    with client_with_token(strict.url, "x" * 2_000_000) as client, suppress(httpx.TransportError):
        assert client.get("/v1/me").status_code in (400, 431)


def test_quota_rejects_whole_requests(tmp_path: Path) -> None:
    def items(*names: str) -> dict[str, object]:
        return {"items": [mail(name, f"Kiln {name}") for name in names]}

    def uses(*days: int) -> dict[str, object]:
        return {"uses": [{"item": "1", "time": f"2024-05-{day:02}T09:00"} for day in days]}

    limits = replace(NO_LIMITS, items=3, uses=2)
    with running(tmp_path, limits) as small, small.client("ines") as ines, small.client("otto") as otto:
        for client in (ines, otto):
            client.put("/v1/me", json={}).raise_for_status()
        assert ines.put("/v1/items", json=items("1", "2")).json()["count"] == 2
        refused = ines.put("/v1/items", json=items("3", "4"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_many")
        assert "at most 3 items" in refused.json()["error"]["message"]
        assert "/v1/items/delete" in refused.json()["error"]["message"]
        assert ines.get("/v1/items").json()["total"] == 2  # all or nothing
        assert ines.put("/v1/items", json=items("2", "3")).status_code == 200  # one exists already
        assert ines.put("/v1/items", json=items("1", "2", "3")).status_code == 200
        assert ines.put("/v1/items", json=items("4")).status_code == 413
        assert otto.put("/v1/items", json=items("4")).status_code == 200  # quotas are per user
        assert ines.post("/v1/items/delete", json={"ids": ["2"]}).json() == {"count": 1}
        assert ines.put("/v1/items", json=items("4")).status_code == 200
        assert ines.post("/v1/uses", json=uses(1, 2)).json() == {"count": 2}
        assert ines.post("/v1/uses", json=uses(2)).json() == {"count": 0}
        refused = ines.post("/v1/uses", json=uses(3))
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_many")
        assert ines.get("/v1/uses").json()["total"] == 2


def test_bytes_are_limited_per_item_user_and_feedback(tmp_path: Path) -> None:
    limits = replace(NO_LIMITS, item_bytes=1000, total_bytes=2500, feedback_bytes=600)
    with running(tmp_path, limits) as small, small.client("ines") as ines:
        ines.put("/v1/me", json={}).raise_for_status()

        def put(name: str, size: int) -> httpx.Response:
            return ines.put("/v1/items", json={"items": [mail(name, "Kiln", "x" * size)]})

        refused = put("1", 1000)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "item_too_large")
        assert "1,000 bytes" in refused.json()["error"]["message"]
        assert [put(name, 800).status_code for name in "12"] == [200, 200]
        refused = put("3", 800)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_many")

        body = {"text": "Where is it?" * 20, "used": ["1"]}
        codes = [ines.post("/v1/feedback", json=body).status_code for _ in range(3)]
        assert codes == [204, 413, 413]
        assert ines.get("/v1/uses").json()["total"] == 1  # refused feedback records no use
        assert ines.get("/v1/items").json()["total"] == 2


def test_replies_are_bounded(tmp_path: Path) -> None:
    limits = replace(NO_LIMITS, reply_bytes=2500)
    with running(tmp_path, limits) as small, small.client("ines") as ines:
        ines.put("/v1/me", json={}).raise_for_status()
        items = [mail(str(number), f"Kiln {number}", "x" * 1000) for number in range(5)]
        ines.put("/v1/items", json={"items": items}).raise_for_status()
        pages = [ines.get("/v1/items", params={"start": start}) for start in (0, 2, 4)]
        assert [page.json()["next"] for page in pages] == [2, 4, None]
        assert [item for page in pages for item in page.json()["items"]] == items
        assert max(len(page.content) for page in pages) < 2700
        for path in ("context", "ask", "inspect"):
            reply = ines.post(f"/v1/{path}", json={"text": "Kiln", "time": "2024-05-16T17:40"})
            assert len(reply.json()["context"]) == 2, path
