"""Calls of the HTTP API: method, path and body, validated with the models of the service."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from contextune.errors import InvalidRequestError
from contextune.serve.http import requests
from contextune.types import Contact, Coordinates, Item, UsageEvent, User

_Body = TypeVar("_Body", bound=BaseModel)
Moment = datetime | str | None
Place = str | Coordinates | None
History = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the API."""

    method: str
    path: str
    json: Mapping[str, Any] | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    repeatable: bool = True
    """Whether the call may be made twice; else it is repeated only if it was refused unprocessed."""


def post(path: str, model: type[_Body], *, repeatable: bool = True, **values: Any) -> Call:
    """A `POST` with a validated body."""
    return Call("POST", path, _body(model, values), repeatable=repeatable)


def request_values(text: str, time: Moment, place: Place, history: History) -> dict[str, Any]:
    """The fields that all requests have."""
    return {
        "text": text,
        "time": time.isoformat() if isinstance(time, datetime) else time,
        "place": place,
        "history": [{"speaker": speaker, "text": said} for speaker, said in history],
    }


def put_me(user: User | None) -> Call:
    """Create or replace the user."""
    values: dict[str, Any] = {}
    if user:
        values = {
            "profile": dict(user.profile),
            "places": dict(user.places),
            "contacts": [_contact(contact) for contact in user.contacts],
            "zone": user.zone.key if user.zone else None,
        }
    return Call("PUT", "/v1/me", _body(requests.UserBody, values))


def put_items(items: Iterable[Item]) -> Call:
    """Add or replace items."""
    values = [{"id": item.id, "app": item.app, "fields": dict(item.fields)} for item in items]
    return Call("PUT", "/v1/items", _body(requests.ItemsBody, {"items": values}))


def put_uses(uses: Iterable[UsageEvent]) -> Call:
    """Record uses."""
    values = [{"item": use.item, "time": use.time.isoformat(), "place": use.place} for use in uses]
    return Call("POST", "/v1/uses", _body(requests.UsageEventsBody, {"uses": values}))


def page(path: str, start: int, limit: int, **params: str | None) -> Call:
    """A page of a list."""
    given = {name: value for name, value in params.items() if value is not None}
    return Call("GET", path, params={"start": start, "limit": limit, **given})


def _contact(contact: Contact) -> dict[str, Any]:
    return {
        "name": contact.name,
        "email": contact.email,
        "phone": contact.phone,
        "relation": contact.relation,
        "more": dict(contact.more),
    }


def _body(model: type[_Body], values: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return model.model_validate(values).model_dump(mode="json", exclude_unset=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidRequestError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None
