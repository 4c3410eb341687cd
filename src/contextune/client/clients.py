"""`Client` and `AsyncClient` of the HTTP service; their methods are the functions of `calls`.

Both share options, responses as values or exceptions, and waiting for another attempt.
"""

import inspect
from asyncio import sleep as async_sleep
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from itertools import count
from time import sleep
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from contextune.client import calls
from contextune.client.calls import Call, Reply
from contextune.client.errors import ConnectionFailedError, ServiceError, UnavailableError, service_error
from contextune.errors import InvalidRequestError, MissingExtraError

try:
    import httpx
except ModuleNotFoundError as error:
    raise MissingExtraError("the client of the HTTP service", "client") from error

_REFUSED = "busy"
"""Code of a request that the service refused before it was processed."""

if TYPE_CHECKING:
    from contextune.serve.http import responses

P = ParamSpec("P")
_Method = TypeVar("_Method", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Retries:
    """How often to repeat a call that the service could not serve, and how long to wait at most."""

    count: int
    max_wait: float

    def wait(self, error: Exception, call: Call[Any], attempt: int) -> float:
        """Seconds to wait before another attempt; raise the error of the call to give up.

        Only a 503 with `Retry-After` is repeated, so that the service decides when, and at once a call on an
        idle connection that the service had ended.
        """
        if isinstance(error, httpx.TransportError):
            ended = isinstance(error, httpx.RemoteProtocolError)
            if ended and call.repeatable and attempt < min(1, self.count):
                return 0.0
            raise _connection_failed(error) from error
        if not isinstance(error, UnavailableError) or not (call.repeatable or error.code == _REFUSED):
            raise error
        if error.retry_after is None or error.retry_after > self.max_wait or attempt >= self.count:
            raise error
        return error.retry_after


def http_options(
    url: str, token: str, timeout: float, transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None
) -> dict[str, Any]:
    """Arguments of `httpx.Client` and `httpx.AsyncClient`."""
    if not url.startswith(("http://", "https://")):
        raise InvalidRequestError(f"not a URL of a service: {url!r} (such as http://127.0.0.1:8765)")
    if not token.isascii() or not token.strip():
        raise InvalidRequestError("the token is not valid: create one with 'contextune serve token add USER'")
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {token}"},
        "timeout": timeout,
        "transport": transport,
    }


def call_options(call: Call[Any]) -> dict[str, Any]:
    """Arguments of `request` of both kinds of `httpx` clients."""
    options: dict[str, Any] = {"method": call.method, "url": call.path, "params": dict(call.params)}
    return options if call.json is None else options | {"json": call.json}


def read_response(response: httpx.Response) -> Any:
    """The JSON of a response, None if it has no content; raises `ServiceError`."""
    try:
        body = response.json() if response.content else None
    except ValueError:
        body = None
    if not response.is_success:
        raise service_error(response.status_code, body, response.headers)
    if response.content and body is None:
        raise ServiceError(
            "the answer is not JSON: is this a Contextune service?", status=response.status_code
        )
    return body


def _connection_failed(error: httpx.TransportError) -> ConnectionFailedError:
    """The exception for a request without a response."""
    reason = "it timed out" if isinstance(error, httpx.TimeoutException) else "the connection failed"
    return ConnectionFailedError(
        f"no answer from the service: {reason}; check that it runs, its URL and the timeout"
    )


def _method(make: Callable[P, Call[Reply]]) -> "Callable[Concatenate[Client, P], Reply]":
    def method(client: "Client", /, *args: P.args, **kwargs: P.kwargs) -> Reply:
        return client.call(make(*args, **kwargs))

    return _documented(method, make)


def _coroutine(
    make: Callable[P, Call[Reply]],
) -> "Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, Reply]]":
    async def method(client: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> Reply:
        return await client.call(make(*args, **kwargs))

    return _documented(method, make)


def _documented(method: _Method, make: Callable[..., Any]) -> _Method:
    """Give a method the name, the arguments and the documentation of a function of `calls`."""
    method.__name__, method.__doc__ = make.__name__, make.__doc__
    client = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    signature = inspect.signature(make)
    parameters = [client, *signature.parameters.values()]
    vars(method)["__signature__"] = signature.replace(
        parameters=parameters, return_annotation=inspect.Signature.empty
    )
    return method


class Client:
    """A user's connection to the HTTP service; thread-safe, and a context manager."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 30.0,
        retries: int = 2,
        max_wait: float = 10.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Create a client; nothing is sent yet.

        Args:
            url: of the service, such as `http://127.0.0.1:8765`.
            token: created by `contextune serve token add USER`; it determines the user.
            timeout: seconds to connect, send and receive, each.
            retries: how often a call is repeated that the service answers with 503 and `Retry-After`.
            max_wait: seconds to wait before an attempt; if the service asks for more, the error is raised.
            transport: replaces the network, as in tests.
        """
        self._http = httpx.Client(**http_options(url, token, timeout, transport))
        self._retries = Retries(retries, max_wait)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    ask = _method(calls.ask)
    context = _method(calls.context)
    tools = _method(calls.tools)
    plan = _method(calls.plan)
    feedback = _method(calls.feedback)
    me = _method(calls.me)
    put_me = _method(calls.put_me)
    forget = _method(calls.forget)
    items = _method(calls.items)
    put_items = _method(calls.put_items)
    delete_items = _method(calls.delete_items)
    uses = _method(calls.uses)
    put_uses = _method(calls.put_uses)
    health = _method(calls.health)

    def all_items(self, *, app: str | None = None) -> "Iterator[responses.ItemReply]":
        """All items of the user, page by page."""
        start: int | None = 0
        while start is not None:
            page = self.items(app=app, start=start)
            yield from page["items"]
            start = page["next"]

    def call(self, call: Call[Reply]) -> Reply:
        """Make a call of `contextune.client.calls`, repeated as `retries` says."""
        for attempt in count():
            try:
                return call.reply(read_response(self._http.request(**call_options(call))))
            except (httpx.TransportError, ServiceError) as error:
                wait = self._retries.wait(error, call, attempt)
            sleep(wait)
        raise AssertionError("unreachable")


class AsyncClient:
    """A user's connection to the HTTP service for an event loop, with coroutines; a context manager."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 30.0,
        retries: int = 2,
        max_wait: float = 10.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Create a client with the arguments of `Client`; nothing is sent yet."""
        self._http = httpx.AsyncClient(**http_options(url, token, timeout, transport))
        self._retries = Retries(retries, max_wait)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    ask = _coroutine(calls.ask)
    context = _coroutine(calls.context)
    tools = _coroutine(calls.tools)
    plan = _coroutine(calls.plan)
    feedback = _coroutine(calls.feedback)
    me = _coroutine(calls.me)
    put_me = _coroutine(calls.put_me)
    forget = _coroutine(calls.forget)
    items = _coroutine(calls.items)
    put_items = _coroutine(calls.put_items)
    delete_items = _coroutine(calls.delete_items)
    uses = _coroutine(calls.uses)
    put_uses = _coroutine(calls.put_uses)
    health = _coroutine(calls.health)

    async def all_items(self, *, app: str | None = None) -> "AsyncIterator[responses.ItemReply]":
        """All items of the user, page by page."""
        start: int | None = 0
        while start is not None:
            page = await self.items(app=app, start=start)
            for item in page["items"]:
                yield item
            start = page["next"]

    async def call(self, call: Call[Reply]) -> Reply:
        """Make a call of `contextune.client.calls`, repeated as `retries` says."""
        for attempt in count():
            try:
                return call.reply(read_response(await self._http.request(**call_options(call))))
            except (httpx.TransportError, ServiceError) as error:
                wait = self._retries.wait(error, call, attempt)
            await async_sleep(wait)
        raise AssertionError("unreachable")
