"""uvicorn protocol: TCP_NODELAY on a shared socket, and the header limit."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from tests.serve.waiting import PATIENCE

from contextune.serve.http.run import UVICORN_OPTIONS
from contextune.serve.http.uvicorn_protocol import MAX_HEADER_BYTES


async def hello_app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


@asynccontextmanager
async def serving() -> AsyncGenerator[tuple[uvicorn.Server, asyncio.StreamReader, asyncio.StreamWriter]]:
    server = uvicorn.Server(uvicorn.Config(hello_app, lifespan="off", **UVICORN_OPTIONS))
    shared = socket.socket(socket.AF_INET)  # as uvicorn creates it for several processes
    shared.bind(("127.0.0.1", 0))
    running = asyncio.create_task(server.serve(sockets=[shared]))
    while not server.started:
        await asyncio.sleep(0.01)
    reader, writer = await asyncio.open_connection(*shared.getsockname())
    yield server, reader, writer
    writer.close()
    server.should_exit = True
    await running


def test_connections_have_tcp_nodelay() -> None:
    async def main() -> None:
        async with serving() as (server, reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            (connection,) = server.server_state.connections
            connection_socket: Any = connection.transport.get_extra_info("socket")
            assert connection_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    asyncio.run(main())


LONG = b"x" * (MAX_HEADER_BYTES + 1)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + LONG,  # a path without end
        b"GET / HTTP/1.1\r\nX: " + LONG,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000,
        b"GET / HTTP/1.1\r\nX: " + LONG + b"\r\n\r\n",
    ],
)
def test_large_headers_are_400(head: bytes) -> None:
    async def main() -> None:
        async with serving() as (_, reader, writer):
            try:
                for start in range(0, len(head), 5000):
                    writer.write(head[start : start + 5000])
                    await asyncio.sleep(0)
                response = await asyncio.wait_for(reader.read(), PATIENCE)
            except ConnectionResetError:
                return  # the connection was closed before everything was sent
            assert response.startswith(b"HTTP/1.1 400")

    asyncio.run(main())


def test_long_body_is_not_limited() -> None:
    async def main() -> None:
        async with serving() as (_, reader, writer):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (9 * len(LONG)))
            for _ in range(9):
                writer.write(LONG)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")

    asyncio.run(main())
