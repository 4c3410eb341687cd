"""MCP over streamable HTTP, protected by one bearer token."""

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from contextune.errors import ContextuneError, InvalidRequestError

if TYPE_CHECKING:
    from mcp.server import Server

PATH = "/mcp"
_SHUTDOWN_TIMEOUT = 5
"""Seconds that open requests get on shutdown."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


def http_app(server: "Server[Any]", token: str, host: str = "127.0.0.1") -> App:
    """The server as an ASGI application. A token is required, as any local program can reach the port."""
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidRequestError("the token is too weak: use 16 or more random letters and digits")
    return _TokenGuard(server.streamable_http_app(streamable_http_path=PATH, host=host), token)


async def serve_http(server: "Server[Any]", token: str, host: str, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT."""
    import uvicorn

    config = uvicorn.Config(
        http_app(server, token, host),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
    )
    await uvicorn.Server(config).serve(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes a free one."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=100
        )
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ContextuneError(
            f"cannot listen on {host!r}, port {port}: {reason}; choose another --port or --host"
        ) from None


def address(host: str, listener: socket.socket) -> str:
    """The URL of the server, for clients."""
    port = listener.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


class _TokenGuard:
    """Rejects requests without the token; compares in constant time."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._authorized(scope["headers"]):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            body = b"send the token as 'Authorization: Bearer ...'"
            await send({"type": "http.response.body", "body": body})
            return
        await self._app(scope, receive, send)

    def _authorized(self, headers: list[tuple[bytes, bytes]]) -> bool:
        header = next((value for name, value in headers if name.lower() == b"authorization"), b"")
        return hmac.compare_digest(header, self._expected)
