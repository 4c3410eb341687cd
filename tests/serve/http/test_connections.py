"""Connections: limits per address and in all, and a deadline for the head of a request."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import sleep
from urllib.parse import urlsplit

import httpx
import pytest
from tests.serve.conftest import NO_LIMITS, LiveService, running
from tests.serve.waiting import PATIENCE, wait_until

from contextune.serve.http.limits import ConnectionLimits
from contextune.serve.http.run import UVICORN_OPTIONS


def connect(service: LiveService, source: str = "127.0.0.1") -> socket.socket:
    address = urlsplit(service.url)
    return socket.create_connection(
        (address.hostname or "", address.port or 0), PATIENCE, source_address=(source, 0)
    )


def test_connections_are_counted_per_address_and_in_all() -> None:
    limits = ConnectionLimits(total=3, per_address=2)
    assert [limits.add(address) for address in "aaabb"] == [True, True, False, True, False]
    limits.remove("a")
    assert [limits.add(address) for address in "ba"] == [True, False]


def test_connections_leave_descriptors_for_the_rest() -> None:
    resource = pytest.importorskip("resource")
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        pytest.skip("no limit on descriptors")
    assert ConnectionLimits(total=10**9).total < descriptors


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    limits = replace(NO_LIMITS, connections=6, connections_per_address=4)
    with running(tmp_path_factory.mktemp("connections"), limits) as live_service:
        yield live_service


def is_healthy(service: LiveService) -> bool:
    try:
        with service.anonymous_client() as client:
            return client.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def test_too_many_connections_of_an_address_are_refused(service: LiveService) -> None:
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(connect(service))
        refused = stack.enter_context(connect(service))
        response = refused.recv(1000)
        assert response.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in response
        assert refused.recv(1000) == b""
    wait_until(lambda: is_healthy(service))  # closed connections count no more


def test_too_many_connections_in_all_are_refused(service: LiveService) -> None:
    with ExitStack() as stack:
        try:
            for source in ("127.0.0.2", "127.0.0.3"):
                for _ in range(3):
                    stack.enter_context(connect(service, source))
        except OSError:
            pytest.skip("this system has one loopback address")
        refused = stack.enter_context(connect(service))
        assert refused.recv(1000).startswith(b"HTTP/1.1 503")
    wait_until(lambda: is_healthy(service))


@pytest.mark.parametrize(
    ("head", "response"),
    [
        (b"", b""),
        (b"GET /health HTTP/1.1\r\nHost: x\r\nX-Sl", b"HTTP/1.1 408"),
        (b"\r\n", b""),
    ],
)
def test_connection_without_a_complete_head_ends(tmp_path: Path, head: bytes, response: bytes) -> None:
    with running(tmp_path, replace(NO_LIMITS, head_timeout=0.2)) as service, connect(service) as connection:
        connection.sendall(head)
        received = connection.recv(1000)
        assert received.startswith(response)
        assert bool(received) == bool(response)


def test_second_request_of_a_connection_has_a_deadline_too(tmp_path: Path) -> None:
    request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    with running(tmp_path, replace(NO_LIMITS, head_timeout=0.5)) as service, connect(service) as connection:
        connection.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            received += connection.recv(100_000)
        head, _, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert head.startswith(b"HTTP/1.1 200")
        assert length
        while len(body) < int(length[1]):
            body += connection.recv(100_000)
        connection.sendall(b"\r\n")  # ends uvicorn's own timer, of more than a minute
        assert connection.recv(1000) == b""


def test_request_that_takes_longer_than_the_head_is_answered(tmp_path: Path) -> None:
    with running(tmp_path, replace(NO_LIMITS, head_timeout=0.5)) as service, service.client("ines") as ines:
        body, headers = b'{"profile": {}}', {"Content-Type": "application/json"}

        def slow_body() -> Iterator[bytes]:
            for byte in body:
                sleep(0.06)
                yield bytes([byte])

        assert ines.put("/v1/me", content=slow_body(), headers=headers).status_code == 204


def test_idle_connections_are_kept_longer_than_clients_and_proxies_keep_them(service: LiveService) -> None:
    """Else this end closes a connection while a request is under way: nginx and load balancers keep 60 s."""
    assert UVICORN_OPTIONS["timeout_keep_alive"] == 75
    with connect(service) as connection:
        for _ in range(2):
            connection.sendall(b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert connection.recv(10_000).startswith(b"HTTP/1.1 200")
            sleep(6)  # uvicorn's own limit is five seconds
