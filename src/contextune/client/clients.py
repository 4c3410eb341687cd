"""`Client` and `AsyncClient` of the HTTP service; their methods are the functions of `calls`."""

import inspect
from asyncio import sleep as async_sleep
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import count
from time import sleep
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from contextune.client import calls
from contextune.client.calls import Call, Reply
from contextune.client.errors import ServiceError
from contextune.client.exchange import Retries, call_options, http_options, httpx, read_response

if TYPE_CHECKING:
    from contextune.serve.http import responses

P = ParamSpec("P")
_Method = TypeVar("_Method", bound=Callable[..., Any])


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
