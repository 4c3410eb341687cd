"""Texts made to stop the service: mails and requests over which patterns used to take minutes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import process_time

import httpx
import pytest
from tests.serve.conftest import LiveService, mail, running

MAIL = "<a style= " * 2_000
NOTE = "Kiln list" + " " * 9_000 + ":" + "'s " * 300 + "x"
REQUESTS = {
    "spaces": "move" + " " * 1_900 + "it to four",
    "times": "at 10:30 " * 220,
    "days": "the 3rd on monday " * 110,
    "openings": "please, could you just " * 80,
    "orders": "tell ask text mail " * 100,
    "quotes": "‘ 's “ " * 280,
    "one word": "a" * 1_990,
    "unknown words": " ".join(f"{a}qx{b}vz" for a in "bdfghjklmnprstw" for b in "bdfghjklmnprstw"),
    "numbers": "1.1.1.1." * 240,
}
PLAIN = "When is the glaze workshop, and who comes to it? " * 40


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveService, httpx.Client]]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    with running(folder) as service, service.client("ines") as client:
        assert client.put("/v1/me", json={}).status_code == 204
        note = {"id": "n1", "app": "Notes", "fields": {"title": "Kiln list", "content": NOTE}}
        fields = {"subject": "Kiln list", "content": MAIL, "date": "2024-05-13T09:00"}
        hostile = {"id": "m1", "app": "Mail", "fields": {**fields, "author": "mallory@example.net"}}
        stored = [hostile, note, mail("m2", "Glaze workshop", PLAIN)]
        assert client.put("/v1/items", json={"items": stored}).status_code == 200
        ask(client, "show me the kiln list")
        yield service, client


def ask(client: httpx.Client, text: str) -> float:
    """CPU seconds of this process, which runs the service, for one answer."""
    start = process_time()
    answer = client.post("/v1/ask", json={"text": text[:2000], "time": "2024-05-16T17:40"})
    assert answer.status_code == 200, answer.text
    return process_time() - start


def test_hostile_items_cost_no_more_than_others(client: tuple[LiveService, httpx.Client]) -> None:
    hostile = min(ask(client[1], f"forward the kiln list mail to Rui, part {n}") for n in range(3))
    plain = min(ask(client[1], f"forward the glaze workshop mail to Rui, part {n}") for n in range(3))
    assert hostile < 5 * plain + 0.2


@pytest.fixture(scope="module")
def plain_seconds(client: tuple[LiveService, httpx.Client]) -> float:
    """CPU seconds for a request as long as the hostile ones."""
    return min(ask(client[1], f"{n} {PLAIN}") for n in range(3))


@pytest.mark.parametrize("kind", REQUESTS)
def test_hostile_requests_cost_no_more_than_long_ones(
    kind: str, client: tuple[LiveService, httpx.Client], plain_seconds: float
) -> None:
    hostile = min(ask(client[1], f"{REQUESTS[kind][:1990]} {n}") for n in range(2))
    assert hostile < 3 * plain_seconds + 0.2


def test_the_service_answers_meanwhile(client: tuple[LiveService, httpx.Client]) -> None:
    service, asking = client
    with ThreadPoolExecutor(1) as thread, service.anonymous_client() as other:
        pending = thread.submit(lambda: [ask(asking, text) for text in REQUESTS.values()])
        lived = 0
        while not pending.done():
            assert other.get("/live").status_code == 200
            lived += 1
        pending.result()
    assert lived > len(REQUESTS)
