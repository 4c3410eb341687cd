"""MCP over streamable HTTP, protected by bearer tokens.

Connections, headers and the time until the headers are complete are limited as in the HTTP service, before
a token is known.
"""

import hmac
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from contextune.errors import ContextuneError, InvalidRequestError, MissingExtraError
from contextune.serve.hosts import AllowedHosts, allowed_hosts
from contextune.serve.http.limits import CONNECTIONS, ConnectionLimits
from contextune.serve.mcp.permissions import EVERYTHING, SCOPE_KEY, ToolPermissions

if TYPE_CHECKING:
    from mcp.server import Server

PATH = "/mcp"
_SHUTDOWN_TIMEOUT = 5
"""Seconds that open requests get on shutdown."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


Tokens = str | Mapping[str, ToolPermissions]
"""One token that may use every tool, or what tokens may use by their SHA-256 in hexadecimal digits."""


def http_app(
    server: "Server[Any]",
    tokens: Tokens,
    hosts: AllowedHosts | None = None,
    limits: ConnectionLimits | None = None,
) -> App:
    """The server as an ASGI application. A token is required, as any local program can reach the port.

    `hosts` are the host names it answers for; by default those of this machine. `limits` are those on
    connections before the token is known.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    if isinstance(tokens, str):
        if len(tokens) < 16 or not tokens.isascii() or not tokens.isprintable() or " " in tokens:
            raise InvalidRequestError("the token is too weak: use 16 or more random letters and digits")
        tokens = {sha256(tokens.encode()).hexdigest(): EVERYTHING}
    # its own check of host names covers three loopback addresses only
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=unchecked)
    return _RequestGuard(app, tokens, hosts or allowed_hosts("127.0.0.1"), limits or ConnectionLimits())


async def serve_http(
    server: "Server[Any]", tokens: Tokens, hosts: AllowedHosts, listener: socket.socket
) -> None:
    """Serve until SIGTERM or SIGINT."""
    import uvicorn

    config = uvicorn.Config(http_app(server, tokens, hosts), **uvicorn_options())
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
    """Rejects requests for other host names, and those without a token; adds what the token may use.

    Digests of tokens are compared, each in constant time.
    """

    def __init__(
        self,
        app: App,
        tokens: Mapping[str, ToolPermissions],
        hosts: AllowedHosts,
        limits: ConnectionLimits,
    ) -> None:
        self._app = app
        self._limits = limits
        self._tokens = tokens
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
            permissions = self._permissions(headers.get(b"authorization", b""))
            if permissions is None:
                await _refuse(send, 401, b"send the token as 'Authorization: Bearer ...'")
                return
            scope[SCOPE_KEY] = permissions
        await self._app(scope, receive, send)

    def _permissions(self, authorization: bytes) -> ToolPermissions | None:
        scheme, _, token = authorization.partition(b" ")
        if scheme != b"Bearer":
            return None
        digest = sha256(token).hexdigest()
        equal = [known for known in self._tokens if hmac.compare_digest(known, digest)]
        return self._tokens[equal[0]] if equal else None

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
