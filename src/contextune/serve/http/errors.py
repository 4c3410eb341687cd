"""HTTP errors: status, machine-readable code and a message without personal data.

The library's own messages quote the invalid value, which may be personal. They are never passed on; each
exception is mapped to a fixed message here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from contextune.errors import (
    ContextuneError,
    DamagedStoreError,
    ErasureIncompleteError,
    InvalidDataError,
    InvalidRequestError,
    LimitError,
    PlanError,
    StoreError,
    UnknownUserError,
)
from contextune.serve.http import requests
from contextune.serve.validation_errors import Location, validation_messages

_MAX_MESSAGES = 5
_API_FIELDS = frozenset(
    {
        "body", "query", "app", "start", "limit",
        *(
            name
            for model in vars(requests).values()
            if isinstance(model, type) and issubclass(model, BaseModel)
            for name in model.model_fields
        ),
    }
)  # fmt: skip
"""Names that the API defines. Other names in an error location come from the client and may be personal."""


@dataclass(eq=False)  # not frozen: raising sets __traceback__
class ApiError(Exception):
    """An error response to the client."""

    status: int
    code: str
    message: str
    where: Sequence[str] = ()
    """The invalid parts of the request, with the problem of each."""
    headers: dict[str, str] = field(default_factory=dict[str, str])


def request_error_messages(errors: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first validation errors as `location: problem`, without names or values made up by the client."""
    return validation_messages(errors, _api_path, _MAX_MESSAGES)


def _api_path(location: Location) -> str:
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step in _API_FIELDS:
            path += f".{step}" if path else step
    return path or "the request"


def unauthorized() -> ApiError:
    """The token is missing or invalid."""
    return ApiError(
        401,
        "unauthorized",
        "missing or invalid token: send 'Authorization: Bearer ctx_…'; the operator of this service "
        "creates tokens",
        headers={"WWW-Authenticate": "Bearer"},
    )


def read_only() -> ApiError:
    """The token may read, and the request changes something."""
    return ApiError(403, "read_only", "this token may only read: use one that was made without --read-only")


def unknown_host() -> ApiError:
    """The Host or Origin header names another site."""
    return ApiError(
        421,
        "unknown_host",
        "this service does not answer for that host name: its operator can add it with --allowed-hosts",
    )


def rate_limited(seconds: int) -> ApiError:
    """The token has used up its rate limit."""
    return ApiError(
        429,
        "too_often",
        f"rate limit exceeded: try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def over_budget(seconds: int) -> ApiError:
    """The user's requests have used up their budget of CPU time."""
    return ApiError(
        429,
        "too_often",
        f"your requests took too much computing time: try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def body_too_large(max_bytes: int) -> ApiError:
    """The body exceeds the size limit."""
    return ApiError(
        413, "too_large", f"the body is too large: send at most {max_bytes} bytes, in several requests"
    )


def quota_exceeded(what: str, limit: int) -> ApiError:
    """The user would have more stored entries than allowed."""
    return ApiError(
        413,
        "too_many",
        f"quota exceeded: at most {limit:,} {what}; delete items (and their uses) with "
        "POST /v1/items/delete, or ask the operator of this service for a higher limit",
    )


def item_too_large(limit: int) -> ApiError:
    """One of the items exceeds the size limit."""
    return ApiError(413, "item_too_large", f"an item is too large: send at most {limit:,} bytes per item")


def body_timeout() -> ApiError:
    """The client did not send the body in time."""
    return ApiError(
        408, "too_slow", "the body did not arrive in time: send it again", headers={"Connection": "close"}
    )


def overloaded(seconds: int = 1) -> ApiError:
    """The queue for worker threads is full, or too long to be served in time."""
    return ApiError(
        503,
        "busy",
        f"too many requests are waiting: try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def timed_out() -> ApiError:
    """The work took longer than the timeout."""
    return ApiError(
        503,
        "timed_out",
        "the request timed out: try again, or request fewer results",
        headers={"Retry-After": "1"},
    )


def internal_error() -> ApiError:
    """An unexpected exception in the service."""
    return ApiError(500, "broken", "internal error: report the request id to the operator of this service")


def invalid_request(where: Sequence[str]) -> ApiError:
    """Parts of the request are invalid."""
    return ApiError(422, "invalid", "invalid request: see where", where)


def from_library_error(error: ContextuneError, where: str) -> ApiError:
    """Map an exception of the library; `where` says what a client can have got wrong in this request."""
    match error:
        case UnknownUserError():
            return ApiError(404, "unknown_user", "unknown user: PUT /v1/me first (an empty object is enough)")
        case LimitError(per="item"):
            return item_too_large(error.limit)
        case LimitError():
            return quota_exceeded(error.what, error.limit)
        case InvalidRequestError() | InvalidDataError() | PlanError():
            return invalid_request([where] if where else [])
        case DamagedStoreError():
            return ApiError(
                503, "damaged", "the store is damaged: the operator of this service must restore a backup"
            )
        case ErasureIncompleteError():
            return ApiError(
                503,
                "not_erased",
                "your data are deleted, but the file could not be rewritten without them yet: "
                "send DELETE /v1/me again later",
                headers={"Retry-After": "60"},
            )
        case StoreError():
            return ApiError(
                503,
                "store",
                "the store is unavailable: try again in a few seconds",
                headers={"Retry-After": "5"},
            )
        case _:
            return internal_error()
