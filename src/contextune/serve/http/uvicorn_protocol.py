"""uvicorn protocol with TCP_NODELAY and limits on connections, header size and header time.

A response is written in two pieces, headers and body. On a socket that several processes share, Nagle's
algorithm delays the second piece by 40 ms. And uvicorn's httptools protocol accepts any number of
connections, waits forever for the first request, and reads headers of any length into memory.
"""

import asyncio
import socket
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from contextune.serve.http.limits import CONNECTIONS, ConnectionLimits

MAX_HEADER_BYTES = 32_768
"""Maximum size of request line and headers."""


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's httptools protocol with these changes."""

    _header_bytes: int | None = None
    """Bytes of incomplete headers received so far; None between headers."""
    _parsed_header_bytes = 0
    """Size of the headers parsed so far, in case they arrive in one chunk."""
    _address: str | None = None
    """Address of the client, if the connection is counted."""
    _head_timer: asyncio.TimerHandle | None = None
    """Ends the connection if no complete headers arrive."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # type: ignore[override]
        """Set TCP_NODELAY, count the connection and start the timer for headers."""
        connection = cast("socket.socket", transport.get_extra_info("socket"))
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)  # pyright: ignore[reportArgumentType]  # annotated too narrowly
        limits, address = self._limits, self.client[0] if self.client else ""
        if limits is None:
            return
        if limits.add(address):
            self._address = address
            self._start_head_timer()
        else:
            self._send_error("503 Service Unavailable", "Too many connections: close some, or retry.", 1)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting the connection."""
        self._stop_head_timer()
        if self._limits is not None and self._address is not None:
            self._limits.remove(self._address)
            self._address = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse a chunk; reject headers that grow too large without ending."""
        if self._is_closing:
            return
        before = self._header_bytes
        super().data_received(data)
        if self._is_closing:
            return
        if self._header_bytes is not None or self._is_idle:
            self._start_head_timer()
        if self._header_bytes is None:
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
        self._stop_head_timer()
        super().on_headers_complete()

    @property
    def _limits(self) -> ConnectionLimits | None:
        return cast("ConnectionLimits | None", self.app_state.get(CONNECTIONS))

    @property
    def _is_closing(self) -> bool:
        return cast("Any", self).transport.is_closing()

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being processed."""
        cycle = cast("Any", self).cycle
        return cycle is None or cycle.response_complete

    def _start_head_timer(self) -> None:
        if self._head_timer is None and self._limits is not None:
            self._head_timer = self.loop.call_later(self._limits.head_timeout, self._end_without_head)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_without_head(self) -> None:
        self._head_timer = None
        if self._is_closing:
            return
        if self._header_bytes is None:
            self.transport.close()  # nothing of a request has arrived: no response is due
        else:
            self._send_error("408 Request Timeout", "The headers did not arrive in time.")

    def _send_error(self, status: str, message: str, retry_after: int | None = None) -> None:
        retry = f"retry-after: {retry_after}\r\n" if retry_after else ""
        head = f"content-type: text/plain\r\ncontent-length: {len(message)}\r\n{retry}connection: close\r\n"
        self.transport.write(f"HTTP/1.1 {status}\r\n{head}\r\n{message}".encode())
        self.transport.close()
