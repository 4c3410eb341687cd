"""uvicorn protocol with TCP_NODELAY and a 32 KB header limit.

A response is written in two pieces, headers and body. On a socket that several processes share, Nagle's
algorithm delays the second piece by 40 ms. And uvicorn's httptools protocol reads headers of any length
into memory.
"""

import socket
from asyncio import BaseTransport
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER_BYTES = 32_768
"""Maximum size of request line and headers."""


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's httptools protocol with these two changes."""

    _header_bytes: int | None = None
    """Bytes of incomplete headers received so far; None between headers."""
    _parsed_header_bytes = 0
    """Size of the headers parsed so far, in case they arrive in one chunk."""

    def connection_made(self, transport: BaseTransport) -> None:  # type: ignore[override]
        """Set TCP_NODELAY."""
        connection = cast("socket.socket", transport.get_extra_info("socket"))
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)  # pyright: ignore[reportArgumentType]  # annotated too narrowly

    def data_received(self, data: bytes) -> None:
        """Parse a chunk; reject headers that grow too large without ending."""
        before = self._header_bytes
        super().data_received(data)
        if self._header_bytes is None or cast("Any", self).transport.is_closing():
            return
        # headers that began within this chunk are at most as long as the chunk
        self._header_bytes = (before or 0) + len(data)
        if self._header_bytes > MAX_HEADER_BYTES:
            self.send_400_response(f"Request headers exceed {MAX_HEADER_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """Headers begin."""
        self._header_bytes = self._parsed_header_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Reject headers that are complete but too large."""
        self._parsed_header_bytes += len(name) + len(value)
        if self._parsed_header_bytes > MAX_HEADER_BYTES:
            raise ValueError(f"headers exceed {MAX_HEADER_BYTES} bytes")  # uvicorn answers 400
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Headers end."""
        self._header_bytes = None
        super().on_headers_complete()
