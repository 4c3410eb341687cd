"""What a client is told when something cannot be done: a status, a code to tell it by, and what to do.

The library's own messages name the value that is wrong, which may be what somebody wrote or where they
live. So none of them is passed on: each is told here in words that hold nothing of anybody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from contextune.errors import (
    ContextuneError,
    InvalidDataError,
    InvalidRequestError,
    LimitError,
    PlanError,
    StoreError,
    UnknownUserError,
)
from contextune.serve.http import requests

_SHOWN = 5
_KNOWN = frozenset(
    {
        "body", "query", "app", "start", "limit",
        *(
            name
            for form in vars(requests).values()
            if isinstance(form, type) and issubclass(form, BaseModel)
            for name in form.model_fields
        ),
    }
)  # fmt: skip
"""Names that are ours. Any other on the way to a fault is one that the client made up: a place, a field."""


def faults(errors: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each of the first faults: where it is, and what is wrong there."""
    lines = [f"{_path(error['loc'])}: {_said(error)}" for error in errors]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [*dict.fromkeys(lines[:_SHOWN]), *more]


def _path(steps: Sequence[str | int]) -> str:
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step in _KNOWN:
            path += f".{step}" if path else step
    return path or "the request"


def _said(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return "is no JSON from here on"
    # pydantic names what it wanted; what it got it puts elsewhere
    return str(error["msg"]).removeprefix("Value error, ")


@dataclass(eq=False)  # not frozen: what is raised gets a traceback
class ApiError(Exception):  # it is said to somebody, and need not be a fault
    """A request that is turned away."""

    status: int
    code: str
    message: str
    where: Sequence[str] = ()
    """Which parts of the request are wrong, and how."""
    headers: dict[str, str] = field(default_factory=dict[str, str])


def unauthorized() -> ApiError:
    """No token, or nobody's."""
    return ApiError(
        401,
        "unauthorized",
        "send a token of yours as 'Authorization: Bearer ctx_…'; whoever runs this service can give you one",
        headers={"WWW-Authenticate": "Bearer"},
    )


def too_often(seconds: int) -> ApiError:
    """More requests than the token may make."""
    return ApiError(
        429,
        "too_often",
        f"this token asks too often: try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def too_large(most: int) -> ApiError:
    """A body of more bytes than are taken."""
    return ApiError(
        413, "too_large", f"the body is too large: send at most {most} bytes, in several requests"
    )


def too_many(what: str, most: int) -> ApiError:
    """More than is kept of one user."""
    return ApiError(
        413,
        "too_many",
        f"at most {most:,} {what} are kept for you, and these would be more: POST /v1/items/delete takes "
        "items away, with their uses; or ask whoever runs this service to allow for more",
    )


def too_slow() -> ApiError:
    """A body that does not arrive."""
    return ApiError(
        408, "too_slow", "the body did not arrive in time: send it again", headers={"Connection": "close"}
    )


def busy() -> ApiError:
    """More requests than threads, and the line is full."""
    return ApiError(
        503, "busy", "too many requests are waiting: try again in a second", headers={"Retry-After": "1"}
    )


def timed_out() -> ApiError:
    """Work that takes too long."""
    return ApiError(
        503,
        "timed_out",
        "this took too long and was given up: try again, or ask for less",
        headers={"Retry-After": "1"},
    )


def broken() -> ApiError:
    """A fault of the service's own."""
    return ApiError(
        500,
        "broken",
        "something went wrong here, not in your request: tell whoever runs this service the request id",
    )


def invalid(where: Sequence[str]) -> ApiError:
    """A request that is not what it should be."""
    return ApiError(422, "invalid", "parts of the request cannot be taken as they are: see where", where)


def refusal_of(error: ContextuneError, where: str) -> ApiError:
    """What to say for an error of the library; `where` says what in this request can be wrong, and how."""
    match error:
        case UnknownUserError():
            return ApiError(
                404, "unknown_user", "nothing is kept for you yet: PUT /v1/me first; {} will do as a body"
            )
        case LimitError():
            return too_many(error.what, error.most)
        case InvalidRequestError() | InvalidDataError() | PlanError():
            return invalid([where] if where else [])
        case StoreError():
            return ApiError(
                503,
                "store",
                "the store cannot be used right now: try again in a moment",
                headers={"Retry-After": "5"},
            )
        case _:
            return broken()
