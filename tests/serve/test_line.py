"""A connection sends what it has at once, over a socket of the kind that several processes share."""

import asyncio
import socket
from typing import Any

import uvicorn

from contextune.serve.run import SERVER


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def test_nothing_is_kept_back() -> None:
    async def main() -> None:
        server = uvicorn.Server(uvicorn.Config(hello, lifespan="off", **SERVER))
        shared = socket.socket(socket.AF_INET)  # as uvicorn makes it for several processes
        shared.bind(("127.0.0.1", 0))
        serving = asyncio.create_task(server.serve(sockets=[shared]))
        while not server.started:
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection(*shared.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        (connection,) = server.server_state.connections
        line: Any = connection.transport.get_extra_info("socket")
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()
        server.should_exit = True
        await serving

    asyncio.run(main())
