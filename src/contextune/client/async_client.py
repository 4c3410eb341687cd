"""Asynchronous client of the HTTP service: the methods of `Client` as coroutines."""

from asyncio import sleep
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from contextune.client import calls
from contextune.client.calls import History, Moment, Place
from contextune.client.errors import ServiceError
from contextune.client.exchange import (
    Retries,
    call_options,
    connection_failed,
    http_options,
    httpx,
    read_response,
)
from contextune.serve.http import requests
from contextune.types import Item, UsageEvent, User

if TYPE_CHECKING:
    from contextune.plan.plan_json import PlanJson
    from contextune.serve.http.responses import (
        AnswerReply,
        HealthReply,
        ItemHitReply,
        ItemReply,
        ItemsReply,
        ToolsReply,
        UsageEventsReply,
        UserReply,
    )


class AsyncClient:
    """A user's connection to the HTTP service for an event loop; a context manager."""

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
        """Create a client; nothing is sent yet.

        Args:
            url: of the service, such as `http://127.0.0.1:8765`.
            token: created by `contextune serve token add USER`; it determines the user.
            timeout: seconds to connect, send and receive, each.
            retries: how often a call is repeated that the service answers with 503 and `Retry-After`.
            max_wait: seconds to wait before an attempt; if the service asks for more, the error is raised.
            transport: replaces the network, as in tests.
        """
        self._http = httpx.AsyncClient(**http_options(url, token, timeout, transport))
        self._retries = Retries(retries, max_wait)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def ask(
        self,
        text: str,
        *,
        time: Moment = None,
        place: Place = None,
        history: History = (),
        k: int = 10,
        tools: int = 5,
        why: bool = True,
    ) -> "AnswerReply":
        """Context, tools and the call to make; with reasons, unless `why` is false."""
        values = calls.request_values(text, time, place, history)
        return await self._call(calls.post("/v1/ask", requests.AskBody, **values, k=k, tools=tools, why=why))

    async def context(
        self,
        text: str,
        *,
        time: Moment = None,
        place: Place = None,
        history: History = (),
        k: int = 10,
        why: bool = False,
    ) -> "list[ItemHitReply]":
        """The user's items that a request refers to, best first."""
        values = calls.request_values(text, time, place, history)
        reply = await self._call(calls.post("/v1/context", requests.ContextBody, **values, k=k, why=why))
        return reply["context"]

    async def tools(
        self,
        text: str,
        *,
        time: Moment = None,
        place: Place = None,
        history: History = (),
        k: int = 5,
        context: bool = True,
        why: bool = False,
    ) -> "ToolsReply":
        """The tools that can serve a request, and the probability that any of them does."""
        values = calls.request_values(text, time, place, history)
        return await self._call(
            calls.post("/v1/tools", requests.ToolsBody, **values, k=k, context=context, why=why)
        )

    async def plan(
        self,
        text: str,
        *,
        time: Moment = None,
        place: Place = None,
        history: History = (),
        tools: Sequence[str] = (),
    ) -> "PlanJson | None":
        """The call to make, with one of `tools` (ids) if given; nothing is called."""
        values = calls.request_values(text, time, place, history)
        reply = await self._call(calls.post("/v1/plan", requests.PlanBody, **values, tools=[*tools]))
        return reply["plan"]

    async def feedback(
        self,
        text: str,
        used: Sequence[str] = (),
        rejected: Sequence[str] = (),
        *,
        tool: str | None = None,
        ok: bool = True,
        time: Moment = None,
        place: Place = None,
        history: History = (),
    ) -> None:
        """Report which items (ids) and tool were right for a request; later answers use it."""
        values = calls.request_values(text, time, place, history)
        values |= {"used": [*used], "rejected": [*rejected], "tool": tool, "ok": ok}
        await self._call(calls.post("/v1/feedback", requests.FeedbackBody, repeatable=False, **values))

    async def me(self) -> "UserReply":
        """Profile, places, contacts and time zone of the user."""
        return await self._call(calls.Call("GET", "/v1/me"))

    async def put_me(self, user: User | None = None) -> None:
        """Create or replace the user; the service takes the id from the token, not from `user`."""
        await self._call(calls.put_me(user))

    async def forget(self) -> None:
        """Delete all data of the user."""
        await self._call(calls.Call("DELETE", "/v1/me"))

    async def items(self, *, app: str | None = None, start: int = 0, limit: int = 100) -> "ItemsReply":
        """A page of the user's items, ordered by id; `next` is the `start` of the next page."""
        return await self._call(calls.page("/v1/items", start, limit, app=app))

    async def put_items(self, items: Iterable[Item]) -> int:
        """Add items, all or none, at most 1,000; existing ids are replaced. Returns their number."""
        return (await self._call(calls.put_items(items)))["count"]

    async def delete_items(self, ids: Iterable[str]) -> int:
        """Delete items by id, with their uses. Returns the number of those that existed."""
        reply = await self._call(calls.post("/v1/items/delete", requests.IdsBody, ids=[*ids]))
        return reply["count"]

    async def uses(self, *, start: int = 0, limit: int = 100) -> "UsageEventsReply":
        """A page of the user's uses, ordered by time; `next` is the `start` of the next page."""
        return await self._call(calls.page("/v1/uses", start, limit))

    async def put_uses(self, uses: Iterable[UsageEvent]) -> int:
        """Record that items were opened, played or called. Returns the number of new uses."""
        return (await self._call(calls.put_uses(uses)))["count"]

    async def health(self) -> "HealthReply":
        """Whether the service works, and its version."""
        return await self._call(calls.Call("GET", "/health"))

    async def all_items(self, *, app: str | None = None) -> "AsyncIterator[ItemReply]":
        """All items of the user, page by page."""
        start: int | None = 0
        while start is not None:
            page = await self.items(app=app, start=start)
            for item in page["items"]:
                yield item
            start = page["next"]

    async def _call(self, call: calls.Call) -> Any:
        attempt = 0
        while True:
            try:
                return read_response(await self._http.request(**call_options(call)))
            except httpx.TransportError as error:
                if not self._retries.may_reconnect(error, call, attempt):
                    raise connection_failed(error) from error
                wait = 0.0
            except ServiceError as error:
                wait = self._retries.wait(error, call, attempt)
                if wait is None:
                    raise
            await sleep(wait)
            attempt += 1
