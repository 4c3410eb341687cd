"""MCP over streamable HTTP: for whoever has the token, and nobody else."""

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from contextune.errors import ContextuneError, InvalidRequestError

if TYPE_CHECKING:
    from mcp.server import Server

PATH = "/mcp"
_PATIENCE = 5
"""Seconds that open requests get when the server is told to end."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


def http_app(server: "Server[Any]", token: str, host: str = "127.0.0.1") -> App:
    """The server as an ASGI application. Any program of any user of a machine can reach a port of it."""
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidRequestError("the token can be guessed: take 16 or more letters and digits, at random")
    return _TokenGuard(server.streamable_http_app(streamable_http_path=PATH, host=host), token)


async def serve_http(server: "Server[Any]", token: str, host: str, listening: socket.socket) -> None:
    """Serve until the process is told to end."""
    import uvicorn

    config = uvicorn.Config(
        http_app(server, token, host),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    await uvicorn.Server(config).serve(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A port to serve at; 0 takes one that is free."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=100
        )
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ContextuneError(
            f"cannot listen at {host!r}, port {port}: {reason}; choose another --port, or --host"
        ) from None


def address(host: str, listening: socket.socket) -> str:
    """What a client is given."""
    port = listening.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


class _TokenGuard:
    """Turns away requests without the token; it takes as long for one that is almost right."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._known(scope["headers"]):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            said = b"send the token as 'Authorization: Bearer ...'"
            await send({"type": "http.response.body", "body": said})
            return
        await self._app(scope, receive, send)

    def _known(self, headers: list[tuple[bytes, bytes]]) -> bool:
        given = next((value for name, value in headers if name.lower() == b"authorization"), b"")
        return hmac.compare_digest(given, self._wanted)
