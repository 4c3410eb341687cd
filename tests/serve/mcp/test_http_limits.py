"""MCP over HTTP limits headers, connections and the time before the token is known."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass

import pytest
import uvicorn
from tests.serve.waiting import PATIENCE, wait_until

from contextune import Tuner
from contextune.serve.http.limits import ConnectionLimits
from contextune.serve.mcp.http_transport import http_app, listen, uvicorn_options
from contextune.serve.mcp.lazy_tuner import LazyTuner
from contextune.serve.mcp.server import mcp_server
from contextune.store import SQLiteStore
from contextune.types import User

TOKEN = "a-token-of-thirty-two-characters"
REQUEST = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True)
class RunningServer:
    port: int
    limits: ConnectionLimits

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    store = SQLiteStore(tmp_path_factory.mktemp("mcp") / "me.db")
    store.put_user(User("ines"))
    limits = ConnectionLimits(total=16, per_address=8, head_timeout=3.0)
    application = http_app(
        mcp_server("ines", LazyTuner(lambda progress: Tuner(store, progress=progress))), TOKEN, limits=limits
    )
    listener = listen("127.0.0.1", 0)
    running = uvicorn.Server(uvicorn.Config(application, **uvicorn_options()))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    wait_until(lambda: running.started)
    yield RunningServer(listener.getsockname()[1], limits)
    running.should_exit = True
    thread.join(PATIENCE)
    store.close()


def answer(connection: socket.socket) -> bytes:
    """All that the server sends until it closes the connection."""
    parts: list[bytes] = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def test_headers_without_end_are_refused(server: RunningServer) -> None:
    with closing(server.connect()) as connection:
        connection.sendall(b"GET /mcp HTTP/1.1\r\n")
        connection.sendall(b"x: " + b"a" * 40_000)
        assert answer(connection).startswith(b"HTTP/1.1 400")


def test_slow_headers_are_refused(server: RunningServer) -> None:
    with closing(server.connect()) as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nhost: local")
        assert answer(connection).startswith(b"HTTP/1.1 408")


def test_silent_connections_are_closed(server: RunningServer) -> None:
    with closing(server.connect()) as connection:
        assert answer(connection) == b""


def test_too_many_connections_are_refused(server: RunningServer) -> None:
    with ExitStack() as opened:
        connections = [
            opened.enter_context(closing(server.connect())) for _ in range(server.limits.per_address + 1)
        ]
        answers: list[bytes] = []
        for connection in connections:
            with suppress(OSError):  # closed before the request arrives
                connection.sendall(REQUEST)
            answers.append(connection.recv(65_536).split(b" ")[1])
    assert answers[0] == b"401"  # refused for want of a token, and kept open
    assert answers[-1] == b"503"
