"""A connection sends what it has at once, over a socket several processes share, and no head is endless."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from contextune.serve.http.run import SERVER
from contextune.serve.http.uvicorn_protocol import LONGEST_HEAD


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


@asynccontextmanager
async def serving() -> AsyncGenerator[tuple[uvicorn.Server, asyncio.StreamReader, asyncio.StreamWriter]]:
    server = uvicorn.Server(uvicorn.Config(hello, lifespan="off", **SERVER))
    shared = socket.socket(socket.AF_INET)  # as uvicorn makes it for several processes
    shared.bind(("127.0.0.1", 0))
    running = asyncio.create_task(server.serve(sockets=[shared]))
    while not server.started:
        await asyncio.sleep(0.01)
    reader, writer = await asyncio.open_connection(*shared.getsockname())
    yield server, reader, writer
    writer.close()
    server.should_exit = True
    await running


def test_nothing_is_kept_back() -> None:
    async def main() -> None:
        async with serving() as (server, reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            (connection,) = server.server_state.connections
            line: Any = connection.transport.get_extra_info("socket")
            assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    asyncio.run(main())


LONG = b"x" * (LONGEST_HEAD + 1)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + LONG,  # an address that does not end
        b"GET / HTTP/1.1\r\nX: " + LONG,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000,
        b"GET / HTTP/1.1\r\nX: " + LONG + b"\r\n\r\n",
    ],
)
def test_a_head_without_end_is_refused(head: bytes) -> None:
    async def main() -> None:
        async with serving() as (_, reader, writer):
            try:
                for start in range(0, len(head), 5000):
                    writer.write(head[start : start + 5000])
                    await asyncio.sleep(0)
                said = await asyncio.wait_for(reader.read(), 30)
            except ConnectionResetError:
                return  # it had hung up before all was sent
            assert said.startswith(b"HTTP/1.1 400")

    asyncio.run(main())


def test_a_long_body_is_no_head() -> None:
    async def main() -> None:
        async with serving() as (_, reader, writer):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (9 * len(LONG)))
            for _ in range(9):
                writer.write(LONG)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")

    asyncio.run(main())
