"""ASGI middleware around every request: host names, authentication, limits, headers, logs, metrics, spans.

Authentication comes before the body is read, so unauthenticated clients cost little. Exceptions are reported
to the client and to the log without their messages, which may contain personal data.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextune.serve.hosts import AllowedHosts
from contextune.serve.http import errors
from contextune.serve.http.credentials import Credentials
from contextune.serve.http.errors import ApiError
from contextune.serve.http.observability import ServiceMetrics, Tracer, log_event
from contextune.serve.http.responses import ErrorReply, JsonResponse
from contextune.serve.http.settings import ServiceLimits
from contextune.serve.http.tokens import ServiceToken
from contextune.serve.http.web import INSPECTOR_PATHS
from contextune.serve.http.worker_pool import set_owner, start_deadline

_PROBES = frozenset({"/health", "/live"})
PUBLIC_PATHS = frozenset({*_PROBES, "/metrics", "/openapi.json", *INSPECTOR_PATHS})
"""Paths that need no token; they serve no user data."""
_COSTS = {("DELETE", "/v1/me"): 10.0}
"""Requests that count as several: forgetting a user rewrites the whole store."""
_READ_ONLY_PATHS = frozenset(f"/v1/{name}" for name in ("ask", "context", "inspect", "plan", "tools"))
"""Requests that change nothing, like every GET: they are dropped when their client disconnects, and the only
ones of a read-only token."""
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_SECURITY_HEADERS = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
}
"""Added to every response that does not have them: a browser must neither keep nor interpret it."""
_CLIENT_CLOSED_REQUEST = 499
"""Logged when the client disconnects before it is answered; nginx uses the same number."""


def error_response(error: ApiError, request_id: str) -> JsonResponse:
    """The error as a JSON response."""
    reply: ErrorReply = {
        "error": {
            "code": error.code,
            "message": error.message,
            "where": list(error.where),
            "request": request_id,
        }
    }
    return JsonResponse(reply, error.status, error.headers)


class _ClientDisconnected(Exception):  # noqa: N818  # not an error of the service
    """The client closed the connection before it was answered."""


class RequestMiddleware:
    """ASGI middleware around the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        credentials: Credentials,
        hosts: AllowedHosts,
        limits: ServiceLimits,
        metrics: ServiceMetrics,
        tracer: Tracer,
        watch: Callable[[str], None] | None = None,
    ) -> None:
        """`watch` is called with the user of every authenticated request."""
        self._app = app
        self._credentials = credentials
        self._watch = watch
        self._hosts = hosts
        self._limits = limits
        self._metrics = metrics
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, and record its outcome in logs, metrics and spans."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start_deadline(self._limits.timeout)
        exchange = _Exchange(scope, send)
        headers = _headers(scope)
        try:
            with self._tracer.request(exchange.method, headers) as span:
                await self._handle(exchange, headers, receive)
                if span:
                    span.set_attribute("http.route", exchange.route)
                    span.set_attribute("http.response.status_code", exchange.status)
        finally:
            self._metrics.record_request(exchange.method, exchange.route, exchange.status, exchange.seconds)
            log_event(
                "request",
                request=exchange.id,
                method=exchange.method,
                route=exchange.route,
                status=exchange.status,
                ms=round(1000 * exchange.seconds, 1),
                user=exchange.user,
            )

    async def _handle(self, exchange: "_Exchange", headers: Mapping[str, str], receive: Receive) -> None:
        try:
            self._check_host(exchange, headers)
            if exchange.scope["path"] in PUBLIC_PATHS:
                body = b""  # without a token no body is read
            else:
                token = await self._authenticate(exchange, headers)
                exchange.user = self._credentials.pseudonym(token.user)
                if self._watch:
                    self._watch(token.user)
                exchange.scope["state"]["user"] = token.user
                if token.read_only and not exchange.only_reads:
                    raise errors.read_only()
                set_owner(token.user)
                body = await self._read_body(headers, receive)
            await self._respond(exchange, body, receive)
        except _ClientDisconnected:
            exchange.status = _CLIENT_CLOSED_REQUEST
        except ApiError as error:
            await exchange.send_error(error)
        except Exception as error:
            log_event("fault", level=logging.ERROR, error=error, request=exchange.id)
            await exchange.send_error(errors.internal_error())

    def _check_host(self, exchange: "_Exchange", headers: Mapping[str, str]) -> None:
        if exchange.scope["path"] in _PROBES:  # probes name the address they ask
            return
        if not self._hosts.allow_host(headers.get("host")) or not self._hosts.allow_origin(
            headers.get("origin")
        ):
            raise errors.unknown_host()

    async def _respond(self, exchange: "_Exchange", body: bytes, receive: Receive) -> None:
        """Call the application; a user's request that changes nothing is dropped if its client disconnects.

        Waiting for that would read the body of a public path, which is not wanted.
        """
        response = self._app(exchange.scope, _replay_body(body, receive), exchange.send)
        path = exchange.scope["path"]
        if path in PUBLIC_PATHS or not exchange.only_reads:
            await response
            return
        handler = asyncio.ensure_future(response)
        watch = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await asyncio.wait([handler, watch], return_when=asyncio.FIRST_COMPLETED)
            if not handler.done() and not exchange.is_complete:
                raise _ClientDisconnected
            await handler
        finally:
            handler.cancel()
            watch.cancel()

    async def _authenticate(self, exchange: "_Exchange", headers: Mapping[str, str]) -> ServiceToken:
        """The token of the request, if it is valid and within its rate limit."""
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise errors.unauthorized()
        cost = _COSTS.get((exchange.scope["method"], exchange.scope["path"]), 1.0)
        try:
            async with asyncio.timeout(self._limits.timeout):
                return await self._credentials.admit(credentials.strip(), cost)
        except TimeoutError:
            raise errors.timed_out() from None

    async def _read_body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        """The whole body, within the limits on size and time."""
        max_bytes, content_length = self._limits.body, headers.get("content-length", "0")
        if content_length.isdecimal() and int(content_length[:20]) > max_bytes:
            raise errors.body_too_large(max_bytes)
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _ClientDisconnected
                    body += message.get("body", b"")
                    if len(body) > max_bytes:
                        raise errors.body_too_large(max_bytes)
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise errors.body_timeout() from None


class _Exchange:
    """One HTTP request and its response."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.scope = scope
        self.id = secrets.token_hex(8)
        scope.setdefault("state", {})["request"] = self.id
        method = scope["method"]
        self.method: str = method if method in _METHODS else "other"
        self.user: str | None = None
        """Pseudonym of the user, for logs."""
        self.status = 0
        self.is_complete = False
        """Whether the whole response has been sent."""
        self._send = send
        self._start = perf_counter()

    @property
    def only_reads(self) -> bool:
        """Whether the request changes nothing."""
        return self.method == "GET" or self.scope["path"] in _READ_ONLY_PATHS

    @property
    def seconds(self) -> float:
        """Time since the request arrived."""
        return perf_counter() - self._start

    @property
    def route(self) -> str:
        """The route's pattern; the path itself may contain personal data."""
        path = self.scope["path"]
        return path if path in PUBLIC_PATHS else str(getattr(self.scope.get("route"), "path", "none"))

    async def send(self, message: Message) -> None:
        """Forward a message, with the request id and the security headers added to those of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", []), (b"x-request-id", self.id.encode())]
            names = {name.lower() for name, _ in headers}
            headers += [(name, value) for name, value in _SECURITY_HEADERS.items() if name not in names]
            message = {**message, "headers": headers}
        self.is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def send_error(self, error: ApiError) -> None:
        """Send an error response, unless a response has started: then it just ends."""
        if not self.status:
            await error_response(error, self.id)(self.scope, _no_body, self.send)


def _headers(scope: Scope) -> dict[str, str]:
    """Headers by name; repeated ones are joined, so that two Authorization headers are invalid."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns a body which has been read already."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _no_body() -> Any:
    return {"type": "http.disconnect"}
