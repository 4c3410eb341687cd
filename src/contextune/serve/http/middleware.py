"""The gate every request passes: who is it, do they ask too often, is it too large; and what became of it.

It stands before anything reads a body, so that somebody without a token costs next to nothing. Whatever
goes wrong inside is told to the client and to the log without a word of anybody's data.
"""

import asyncio
import logging
import secrets
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextune.serve.http import errors
from contextune.serve.http.errors import ApiError
from contextune.serve.http.json_logs import told
from contextune.serve.http.metrics import ServiceMetrics
from contextune.serve.http.rate_limit import RateLimiter
from contextune.serve.http.responses import ErrorReply, JsonResponse
from contextune.serve.http.settings import ServiceLimits
from contextune.serve.http.tokens import ServiceToken, TokenFile
from contextune.serve.http.tracing import Tracer
from contextune.serve.http.web import PATHS

OPEN = frozenset({"/health", "/metrics", "/openapi.json", "/docs", *PATHS})
"""What anybody may see: there is nothing of anybody's in it."""
_COSTS = {("DELETE", "/v1/me"): 10.0}
"""Requests that count as several: forgetting writes the whole store anew."""
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_LEFT = 499
"""Written down for a client that went away before it was answered."""


def error_reply(refusal: ApiError, request: str) -> JsonResponse:
    """What the client is told."""
    said: ErrorReply = {
        "error": {
            "code": refusal.code,
            "message": refusal.message,
            "where": list(refusal.where),
            "request": request,
        }
    }
    return JsonResponse(said, refusal.status, refusal.headers)


class _ClientDisconnected(Exception):  # noqa: N818  # nobody's fault
    """The client went away."""


class RequestMiddleware:
    """ASGI middleware around the whole service."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: TokenFile,
        limits: ServiceLimits,
        metrics: ServiceMetrics,
        spans: Tracer,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._limits = limits
        self._rates = RateLimiter(limits.rate, limits.burst)
        self._metrics = metrics
        self._spans = spans

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or turn it away; in both cases write down how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Exchange(scope, send)
        headers = _headers(scope)
        try:
            with self._spans.request(passage.method, headers) as span:
                await self._pass(passage, headers, receive)
                if span:
                    span.set_attribute("http.route", passage.route)
                    span.set_attribute("http.response.status_code", passage.status)
        finally:
            self._metrics.answered(passage.method, passage.route, passage.status, passage.seconds)
            told(
                "request",
                request=passage.id,
                method=passage.method,
                route=passage.route,
                status=passage.status,
                ms=round(1000 * passage.seconds, 1),
                user=passage.user,
            )

    async def _pass(self, passage: "_Exchange", headers: Mapping[str, str], receive: Receive) -> None:
        try:
            if passage.scope["path"] not in OPEN:
                token = self._admitted(passage, headers)
                passage.user = self._tokens.alias(token.user)
                passage.scope["state"]["user"] = token.user
            body = await self._body(headers, receive)
            await self._app(passage.scope, _replayed(body, receive), passage.send)
        except _ClientDisconnected:
            passage.status = _LEFT
        except ApiError as refusal:
            await passage.refuse(refusal)
        except Exception as error:  # neither the client nor the log gets its words
            told("fault", level=logging.ERROR, error=error, request=passage.id)
            await passage.refuse(errors.broken())

    def _admitted(self, passage: "_Exchange", headers: Mapping[str, str]) -> ServiceToken:
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        token = self._tokens.user_of(shown.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise errors.unauthorized()
        cost = _COSTS.get((passage.scope["method"], passage.scope["path"]), 1.0)
        if seconds := self._rates.take(token.id, cost):
            raise errors.too_often(seconds)
        return token

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        """The whole body, as long as it is small and does not take too long."""
        most, said = self._limits.body, headers.get("content-length", "0")
        if said.isdecimal() and int(said[:20]) > most:
            raise errors.too_large(most)
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _ClientDisconnected
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise errors.too_large(most)
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise errors.too_slow() from None


class _Exchange:
    """One request on its way."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.scope = scope
        self.id = secrets.token_hex(8)
        scope.setdefault("state", {})["request"] = self.id
        method = scope["method"]
        self.method: str = method if method in _METHODS else "other"
        self.user: str | None = None
        self.status = 0
        self._send = send
        self._start = perf_counter()

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return perf_counter() - self._start

    @property
    def route(self) -> str:
        """The pattern of its address: the address itself may hold anything."""
        path = self.scope["path"]
        return path if path in OPEN else str(getattr(self.scope.get("route"), "path", "none"))

    async def send(self, message: Message) -> None:
        """Send on, with the id of the request."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [(b"x-request-id", self.id.encode()), (b"cache-control", b"no-store")]
            message = {**message, "headers": [*message.get("headers", []), *headers]}
        await self._send(message)

    async def refuse(self, refusal: ApiError) -> None:
        """Tell the client, unless it is being answered already: then the answer ends where it is."""
        if not self.status:
            reply = error_reply(refusal, self.id)
            await reply(self.scope, _nothing, self.send)


def _headers(scope: Scope) -> dict[str, str]:
    """By name; of a header that stands twice both, so that neither counts as the one that was meant."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that has been read, for whoever reads it next."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _nothing() -> Any:
    return {"type": "http.disconnect"}
