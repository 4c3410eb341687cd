"""MCP over streamable HTTP: for whoever has the token, and nobody else."""

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from contextune.errors import InvalidRequestError

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
    return _Guarded(server.streamable_http_app(streamable_http_path=PATH, host=host), token)


async def serve_http(server: "Server[Any]", token: str, host: str, port: int) -> None:
    """Serve until the process is told to end."""
    import uvicorn

    config = uvicorn.Config(
        http_app(server, token, host),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    await uvicorn.Server(config).serve()


def address(host: str, port: int) -> str:
    """What a client is given."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


class _Guarded:
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
