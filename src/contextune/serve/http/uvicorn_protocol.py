"""A connection that sends what it has at once, and holds the heads of requests to a size.

An answer is written in two pieces, its head and its body. Unless told otherwise, a socket that several
processes share keeps the second back until the first is acknowledged, which takes 40 ms. And uvicorn's quick
protocol would read a head without end into memory.
"""

import socket
from asyncio import BaseTransport
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 32_768
"""Bytes of a request before its body."""


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's quick protocol over such a connection."""

    _head: int | None = None
    """Bytes of a head that has not ended; None between heads."""

    def connection_made(self, transport: BaseTransport) -> None:  # type: ignore[override]
        """Begin."""
        line = cast("socket.socket", transport.get_extra_info("socket"))
        if line.family in (socket.AF_INET, socket.AF_INET6):
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)  # pyright: ignore[reportArgumentType]  # it says less than it takes

    def data_received(self, data: bytes) -> None:
        """Take what has come, unless a head does not end."""
        before = self._head
        super().data_received(data)
        if self._head is None or cast("Any", self).transport.is_closing():
            return
        # a head that began in this piece is at most as long as the piece
        self._head = (before or 0) + len(data)
        if self._head > LONGEST_HEAD:
            self.send_400_response(f"The head of a request may have {LONGEST_HEAD} bytes.")

    def on_message_begin(self) -> None:
        """A head begins."""
        self._head = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One line of it."""
        size = sum(len(key) + len(said) for key, said in self.headers) + len(name) + len(value)
        if size > LONGEST_HEAD:
            raise ValueError(f"a head of more than {LONGEST_HEAD} bytes")  # uvicorn answers 400
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """It has ended."""
        self._head = None
        super().on_headers_complete()
