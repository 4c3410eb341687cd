"""Client of the HTTP service."""

from collections.abc import Iterable, Iterator, Sequence
from time import sleep
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

    def ask(
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
        return self._call(calls.post("/v1/ask", requests.AskBody, **values, k=k, tools=tools, why=why))

    def context(
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
        reply = self._call(calls.post("/v1/context", requests.ContextBody, **values, k=k, why=why))
        return reply["context"]

    def tools(
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
        return self._call(
            calls.post("/v1/tools", requests.ToolsBody, **values, k=k, context=context, why=why)
        )

    def plan(
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
        reply = self._call(calls.post("/v1/plan", requests.PlanBody, **values, tools=[*tools]))
        return reply["plan"]

    def feedback(
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
        self._call(calls.post("/v1/feedback", requests.FeedbackBody, repeatable=False, **values))

    def me(self) -> "UserReply":
        """Profile, places, contacts and time zone of the user."""
        return self._call(calls.Call("GET", "/v1/me"))

    def put_me(self, user: User | None = None) -> None:
        """Create or replace the user; the service takes the id from the token, not from `user`."""
        self._call(calls.put_me(user))

    def forget(self) -> None:
        """Delete all data of the user."""
        self._call(calls.Call("DELETE", "/v1/me"))

    def items(self, *, app: str | None = None, start: int = 0, limit: int = 100) -> "ItemsReply":
        """A page of the user's items, ordered by id; `next` is the `start` of the next page."""
        return self._call(calls.page("/v1/items", start, limit, app=app))

    def put_items(self, items: Iterable[Item]) -> int:
        """Add items, all or none, at most 1,000; existing ids are replaced. Returns their number."""
        return self._call(calls.put_items(items))["count"]

    def delete_items(self, ids: Iterable[str]) -> int:
        """Delete items by id, with their uses. Returns the number of those that existed."""
        reply = self._call(calls.post("/v1/items/delete", requests.IdsBody, ids=[*ids]))
        return reply["count"]

    def uses(self, *, start: int = 0, limit: int = 100) -> "UsageEventsReply":
        """A page of the user's uses, ordered by time; `next` is the `start` of the next page."""
        return self._call(calls.page("/v1/uses", start, limit))

    def put_uses(self, uses: Iterable[UsageEvent]) -> int:
        """Record that items were opened, played or called. Returns the number of new uses."""
        return self._call(calls.put_uses(uses))["count"]

    def health(self) -> "HealthReply":
        """Whether the service works, and its version."""
        return self._call(calls.Call("GET", "/health"))

    def all_items(self, *, app: str | None = None) -> "Iterator[ItemReply]":
        """All items of the user, page by page."""
        start: int | None = 0
        while start is not None:
            page = self.items(app=app, start=start)
            yield from page["items"]
            start = page["next"]

    def _call(self, call: calls.Call) -> Any:
        attempt = 0
        while True:
            try:
                return read_response(self._http.request(**call_options(call)))
            except httpx.TransportError as error:
                if not self._retries.may_reconnect(error, call, attempt):
                    raise connection_failed(error) from error
                wait = 0.0
            except ServiceError as error:
                wait = self._retries.wait(error, call, attempt)
                if wait is None:
                    raise
            sleep(wait)
            attempt += 1
