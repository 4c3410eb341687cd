"""MCP over streamable HTTP, protected by one bearer token.

Connections, headers and the time until the headers are complete are limited as in the HTTP service, before
the token is known.
"""

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from contextune.errors import ContextuneError, InvalidRequestError, MissingExtraError
from contextune.serve.hosts import AllowedHosts, allowed_hosts
from contextune.serve.http.limits.connections import CONNECTIONS, ConnectionLimits

if TYPE_CHECKING:
    from mcp.server import Server

PATH = "/mcp"
_SHUTDOWN_TIMEOUT = 5
"""Seconds that open requests get on shutdown."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


def http_app(
    server: "Server[Any]",
    token: str,
    hosts: AllowedHosts | None = None,
    limits: ConnectionLimits | None = None,
) -> App:
    """The server as an ASGI application. A token is required, as any local program can reach the port.

    `hosts` are the host names it answers for; by default those of this machine. `limits` are those on
    connections before the token is known.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidRequestError("the token is too weak: use 16 or more random letters and digits")
    # its own check of host names covers three loopback addresses only
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=unchecked)
    return _RequestGuard(app, token, hosts or allowed_hosts("127.0.0.1"), limits or ConnectionLimits())


async def serve_http(server: "Server[Any]", token: str, hosts: AllowedHosts, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT."""
    import uvicorn

    config = uvicorn.Config(http_app(server, token, hosts), **uvicorn_options())
    await uvicorn.Server(config).serve(sockets=[listener])


def uvicorn_options() -> dict[str, Any]:
    """How uvicorn serves the application, with the protocol that limits connections and headers."""
    try:
        from contextune.serve.http.uvicorn_protocol import HttpProtocol
    except ModuleNotFoundError as error:
        raise MissingExtraError("MCP over HTTP", "mcp") from error
    return {
        "http": HttpProtocol,
        "ws": "none",
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,  # addresses are counted as they connect, not as a header claims
        "timeout_graceful_shutdown": _SHUTDOWN_TIMEOUT,
    }


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


class _RequestGuard:
    """Rejects requests for other host names, and those without the token, compared in constant time."""

    def __init__(self, app: App, token: str, hosts: AllowedHosts, limits: ConnectionLimits) -> None:
        self._app = app
        self._limits = limits
        self._expected = f"Bearer {token}".encode()
        self._hosts = hosts

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            scope.setdefault("state", {})[CONNECTIONS] = self._limits
        if scope["type"] == "http":
            headers: dict[bytes, bytes] = {}
            for name, value in scope["headers"]:  # a repeated header matches nothing
                key = name.lower()
                headers[key] = headers[key] + b"," + value if key in headers else value
            if not self._is_addressed(headers):
                await _refuse(send, 421, b"unknown host name: allow it with --allowed-hosts")
                return
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                await _refuse(send, 401, b"send the token as 'Authorization: Bearer ...'")
                return
        await self._app(scope, receive, send)

    def _is_addressed(self, headers: dict[bytes, bytes]) -> bool:
        host, origin = (
            headers[name].decode("latin-1") if name in headers else None for name in (b"host", b"origin")
        )
        return self._hosts.allow_host(host) and self._hosts.allow_origin(origin)


async def _refuse(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"text/plain")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
