"""Calls of the HTTP API: one function a method of the clients, with its path, body and reply.

Bodies are validated with the models of the service before they are sent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from contextune.errors import InvalidRequestError
from contextune.serve.http import requests
from contextune.types import Contact, Coordinates, Item, UsageEvent, User

if TYPE_CHECKING:
    from contextune.plan.plan_json import PlanJson
    from contextune.serve.http import responses

Reply = TypeVar("Reply")
Moment = datetime | str | None
Place = str | Coordinates | None
History = Sequence[tuple[str, str]]
State = Mapping[str, Any] | None
"""The `state` of the last answer."""


@dataclass(frozen=True, slots=True)
class Call(Generic[Reply]):
    """One call of the API."""

    method: str
    path: str
    json: Mapping[str, Any] | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    repeatable: bool = True
    """Whether the call may be made twice; else it is repeated only if it was refused unprocessed."""
    key: str = ""
    """The field of the response that is returned; the whole response if empty."""

    def reply(self, response: Any) -> Reply:
        """The value to return for the JSON of a response."""
        return response[self.key] if self.key else response


def ask(
    text: str,
    *,
    time: Moment = None,
    place: Place = None,
    history: History = (),
    state: State = None,
    k: int = 10,
    tools: int = 5,
    why: bool = True,
) -> "Call[responses.AnswerReply]":
    """Context, tools and the call to make; with reasons, unless `why` is false."""
    values = _request_values(text, time, place, history, state)
    return Call("POST", "/v1/ask", _body(requests.AskBody, **values, k=k, tools=tools, why=why))


def context(
    text: str,
    *,
    time: Moment = None,
    place: Place = None,
    history: History = (),
    state: State = None,
    k: int = 10,
    why: bool = False,
) -> "Call[list[responses.ItemHitReply]]":
    """The user's items that a request refers to, best first."""
    body = _body(requests.ContextBody, **_request_values(text, time, place, history, state), k=k, why=why)
    return Call("POST", "/v1/context", body, key="context")


def tools(
    text: str,
    *,
    time: Moment = None,
    place: Place = None,
    history: History = (),
    state: State = None,
    k: int = 5,
    context: bool = True,
    why: bool = False,
) -> "Call[responses.ToolsReply]":
    """The tools that can serve a request, and the probability that any of them does."""
    values = _request_values(text, time, place, history, state)
    return Call("POST", "/v1/tools", _body(requests.ToolsBody, **values, k=k, context=context, why=why))


def plan(
    text: str,
    *,
    time: Moment = None,
    place: Place = None,
    history: History = (),
    state: State = None,
    tools: Sequence[str] = (),
) -> "Call[PlanJson | None]":
    """The call to make, with one of `tools` (ids) if given; nothing is called."""
    body = _body(requests.PlanBody, **_request_values(text, time, place, history, state), tools=[*tools])
    return Call("POST", "/v1/plan", body, key="plan")


def feedback(
    text: str,
    used: Sequence[str] = (),
    rejected: Sequence[str] = (),
    *,
    tool: str | None = None,
    ok: bool = True,
    time: Moment = None,
    place: Place = None,
    history: History = (),
    state: State = None,
) -> Call[None]:
    """Report which items (ids) and tool were right for a request; later answers use it."""
    values = _request_values(text, time, place, history, state)
    values |= {"used": [*used], "rejected": [*rejected], "tool": tool, "ok": ok}
    return Call("POST", "/v1/feedback", _body(requests.FeedbackBody, **values), repeatable=False)


def me() -> "Call[responses.UserReply]":
    """Profile, places, contacts and time zone of the user."""
    return Call("GET", "/v1/me")


def put_me(user: User | None = None) -> Call[None]:
    """Create or replace the user; the service takes the id from the token, not from `user`."""
    values: dict[str, Any] = {}
    if user:
        values = {
            "profile": dict(user.profile),
            "places": dict(user.places),
            "contacts": [_contact(contact) for contact in user.contacts],
            "zone": user.zone.key if user.zone else None,
        }
    return Call("PUT", "/v1/me", _body(requests.UserBody, **values))


def forget() -> Call[None]:
    """Delete all data of the user."""
    return Call("DELETE", "/v1/me")


def items(*, app: str | None = None, start: int = 0, limit: int = 100) -> "Call[responses.ItemsReply]":
    """A page of the user's items, ordered by id; `next` is the `start` of the next page."""
    params = {"start": start, "limit": limit}
    return Call("GET", "/v1/items", params=params if app is None else params | {"app": app})


def put_items(items: Iterable[Item]) -> Call[int]:
    """Add items, all or none, at most 1,000; existing ids are replaced. Returns their number."""
    values = [{"id": item.id, "app": item.app, "fields": dict(item.fields)} for item in items]
    return Call("PUT", "/v1/items", _body(requests.ItemsBody, items=values), key="count")


def delete_items(ids: Iterable[str]) -> Call[int]:
    """Delete items by id, with their uses. Returns the number of those that existed."""
    return Call("POST", "/v1/items/delete", _body(requests.IdsBody, ids=[*ids]), key="count")


def uses(*, start: int = 0, limit: int = 100) -> "Call[responses.UsageEventsReply]":
    """A page of the user's uses, ordered by time; `next` is the `start` of the next page."""
    return Call("GET", "/v1/uses", params={"start": start, "limit": limit})


def put_uses(uses: Iterable[UsageEvent]) -> Call[int]:
    """Record that items were opened, played or called. Returns the number of new uses."""
    values = [{"item": use.item, "time": use.time.isoformat(), "place": use.place} for use in uses]
    return Call("POST", "/v1/uses", _body(requests.UsageEventsBody, uses=values), key="count")


def health() -> "Call[responses.HealthReply]":
    """Whether the service works, and its version."""
    return Call("GET", "/health")


def _request_values(text: str, time: Moment, place: Place, history: History, state: State) -> dict[str, Any]:
    """The fields that all requests have."""
    values: dict[str, Any] = {} if state is None else {"state": dict(state)}
    return values | {
        "text": text,
        "time": time.isoformat() if isinstance(time, datetime) else time,
        "place": place,
        "history": [{"speaker": speaker, "text": text} for speaker, text in history],
    }


def _contact(contact: Contact) -> dict[str, Any]:
    return {
        "name": contact.name,
        "email": contact.email,
        "phone": contact.phone,
        "relation": contact.relation,
        "more": dict(contact.more),
    }


def _body(model: type[BaseModel], **values: Any) -> dict[str, Any]:
    try:
        return model.model_validate(values).model_dump(mode="json", exclude_unset=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidRequestError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None
