"""How much anybody may ask: rates, sizes, threads, times."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import httpx
import pytest
from tests.serve.conftest import Running, mail, running, with_token

from contextune.errors import InvalidDataError
from contextune.serve.http.errors import ApiError
from contextune.serve.http.rate_limit import RateLimiter
from contextune.serve.http.settings import ServiceLimits, ServiceSettings
from contextune.serve.http.thread_pool import WorkerPool
from contextune.serve.http.tokens import TokenFile


def test_a_bucket_fills_at_an_even_rate() -> None:
    now = [0.0]
    rates = RateLimiter(2.0, 3, clock=lambda: now[0])
    assert [rates.take("a") for _ in range(5)] == [0, 0, 0, 1, 1]
    assert rates.take("b") == 0  # of another token
    now[0] = 0.5
    assert [rates.take("a"), rates.take("a")] == [0, 1]
    now[0] = 100.0
    assert [rates.take("a") for _ in range(4)] == [0, 0, 0, 1]  # never more than the burst


def test_some_requests_cost_more() -> None:
    now = [0.0]
    rates = RateLimiter(1.0, 20, clock=lambda: now[0])
    assert [rates.take("a", 10), rates.take("a", 10), rates.take("a", 10)] == [0, 0, 10]
    now[0] = 20.0
    assert rates.take("a", 1000) == 0  # a whole bucket, or it could never be had


def test_too_much_work_is_turned_away_and_none_is_lost() -> None:
    held, free = Event(), Event()

    def hold() -> str:
        held.set()
        free.wait(30)
        return "done"

    async def main() -> None:
        work = WorkerPool(1, 1, 30)
        first = asyncio.create_task(work.do(hold))
        await asyncio.to_thread(held.wait, 30)
        second = asyncio.create_task(work.do(lambda: "second"))
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await work.do(lambda: "third")
        assert (refused.value.status, refused.value.code, work.open) == (503, "busy", 2)
        free.set()
        assert [await first, await second] == ["done", "second"]
        assert work.open == 0
        work.close()

    asyncio.run(main())


def test_work_that_takes_too_long_is_given_up_and_keeps_its_thread() -> None:
    free = Event()

    async def main() -> None:
        work = WorkerPool(1, 0, 0.05)
        with pytest.raises(ApiError) as refused:
            await work.do(free.wait, 30)
        assert (refused.value.status, refused.value.code) == (503, "timed_out")
        with pytest.raises(ApiError) as refused:
            await work.do(lambda: None)
        assert refused.value.code == "busy"
        free.set()
        await asyncio.to_thread(work.close)
        assert work.open == 0

    asyncio.run(main())


def test_an_error_of_the_work_is_its_own() -> None:
    def fail() -> None:
        raise TimeoutError("of a disk")

    async def main() -> None:
        work = WorkerPool(1, 1, 30)
        with pytest.raises(TimeoutError, match="of a disk"):
            await work.do(fail)
        work.close()

    asyncio.run(main())


def test_limits_let_somebody_in() -> None:
    for name in ("rate", "burst", "body", "timeout", "waiting", "items", "uses"):
        with pytest.raises(InvalidDataError, match="lets nobody in"):
            ServiceLimits(**{name: 0})


def test_settings_reach_another_process(tmp_path: Path) -> None:
    settings = ServiceSettings(
        tmp_path / "s.db", tmp_path / "t", tmp_path / "c", 3, ServiceLimits(1.5, 2, 3, 4.5, 5, 6, 7)
    )
    assert ServiceSettings.from_json(settings.to_json()) == settings
    plain = ServiceSettings(tmp_path / "s.db", tmp_path / "t")
    assert ServiceSettings.from_json(plain.to_json()) == plain


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    limits = ServiceLimits(rate=0.01, burst=3, body=1000, timeout=1.0)
    with running(tmp_path_factory.mktemp("strict"), limits) as found:
        yield found


def test_who_asks_too_often_is_told_when_to_come_back(strict: Running) -> None:
    with strict.client("ines") as ines, strict.client("otto") as otto:
        found = [ines.get("/v1/me") for _ in range(5)]
        assert [one.status_code for one in found] == [404, 404, 404, 429, 429]
        assert 90 <= int(found[-1].headers["Retry-After"]) <= 100
        assert found[-1].json()["error"]["code"] == "too_often"
        assert otto.get("/v1/me").status_code == 404


def test_a_body_that_is_too_large(strict: Running) -> None:
    with strict.client("ines") as ines:
        plain = ines.put("/v1/me", content=b" " * 1001)
        assert (plain.status_code, plain.json()["error"]["code"]) == (413, "too_large")
        parts = ines.put("/v1/me", content=iter([b" " * 400] * 4))  # chunked: it does not say how long it is
        assert (parts.status_code, parts.json()["error"]["code"]) == (413, "too_large")
        assert "1000 bytes" in parts.json()["error"]["message"]


def test_a_body_that_does_not_arrive(strict: Running) -> None:
    token = TokenFile(strict.settings.tokens).add("ines")
    address = urlsplit(strict.url)
    with socket.create_connection((address.hostname or "", address.port or 0), 30) as line:
        line.sendall(
            f"PUT /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{".encode()
        )
        assert line.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_body_without_a_token_is_not_read(strict: Running) -> None:
    address = urlsplit(strict.url)
    with socket.create_connection((address.hostname or "", address.port or 0), 30) as line:
        line.sendall(b"PUT /v1/me HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n")  # and never sends it
        assert line.recv(1000).startswith(b"HTTP/1.1 401")


def test_a_head_that_is_too_large(strict: Running) -> None:
    # it may hang up before all of it is sent
    with with_token(strict.url, "x" * 2_000_000) as client, suppress(httpx.TransportError):
        assert client.get("/v1/me").status_code in (400, 431)


def test_a_user_keeps_only_so_much(tmp_path: Path) -> None:
    def items(*names: str) -> dict[str, object]:
        return {"items": [mail(name, f"Kiln {name}") for name in names]}

    def uses(*days: int) -> dict[str, object]:
        return {"uses": [{"item": "1", "time": f"2024-05-{day:02}T09:00"} for day in days]}

    limits = ServiceLimits(rate=10_000, burst=10_000, items=3, uses=2)
    with running(tmp_path, limits) as small, small.client("ines") as ines, small.client("otto") as otto:
        for one in (ines, otto):
            one.put("/v1/me", json={}).raise_for_status()
        assert ines.put("/v1/items", json=items("1", "2")).json() == {"count": 2}
        refused = ines.put("/v1/items", json=items("3", "4"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_many")
        assert "at most 3 items" in refused.json()["error"]["message"]
        assert "/v1/items/delete" in refused.json()["error"]["message"]
        assert ines.get("/v1/items").json()["total"] == 2  # all of a request, or nothing
        assert ines.put("/v1/items", json=items("2", "3")).status_code == 200  # one of them is there already
        assert ines.put("/v1/items", json=items("1", "2", "3")).status_code == 200
        assert ines.put("/v1/items", json=items("4")).status_code == 413
        assert otto.put("/v1/items", json=items("4")).status_code == 200  # who has room of their own
        assert ines.post("/v1/items/delete", json={"ids": ["2"]}).json() == {"count": 1}
        assert ines.put("/v1/items", json=items("4")).status_code == 200
        assert ines.post("/v1/uses", json=uses(1, 2)).json() == {"count": 2}
        assert ines.post("/v1/uses", json=uses(2)).json() == {"count": 0}
        refused = ines.post("/v1/uses", json=uses(3))
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_many")
        assert ines.get("/v1/uses").json()["total"] == 2
