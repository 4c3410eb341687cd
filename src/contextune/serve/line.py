"""A connection that sends what it has at once.

An answer is written in two pieces, its head and its body. Unless told otherwise, a socket that several
processes share keeps the second back until the first is acknowledged, which takes 40 ms.
"""

import socket
from asyncio import BaseTransport
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol


class PromptLine(H11Protocol):
    """uvicorn's protocol over such a connection. It holds heads to a size, which its quicker one does not."""

    def connection_made(self, transport: BaseTransport) -> None:  # type: ignore[override]
        """Begin."""
        line = cast("socket.socket", transport.get_extra_info("socket"))
        if line.family in (socket.AF_INET, socket.AF_INET6):
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)  # pyright: ignore[reportArgumentType]  # it says less than it takes
