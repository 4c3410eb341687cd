"""What a client is told when something cannot be done: a status, a code to tell it by, and what to do.

The library's own messages name the value that is wrong, which may be what somebody wrote or where they
live. So none of them is passed on: each is told here in words that hold nothing of anybody.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from contextune.errors import (
    ContextuneError,
    InvalidDataError,
    InvalidRequestError,
    LimitError,
    PlanError,
    StoreError,
    UnknownUserError,
)


@dataclass(eq=False)  # not frozen: what is raised gets a traceback
class Refusal(Exception):  # noqa: N818  # it is said to somebody, and need not be a fault
    """A request that is turned away."""

    status: int
    code: str
    message: str
    where: Sequence[str] = ()
    """Which parts of the request are wrong, and how."""
    headers: dict[str, str] = field(default_factory=dict[str, str])


def unauthorized() -> Refusal:
    """No token, or nobody's."""
    return Refusal(
        401,
        "unauthorized",
        "send a token of yours as 'Authorization: Bearer ctx_…'; whoever runs this service can give you one",
        headers={"WWW-Authenticate": "Bearer"},
    )


def too_often(seconds: int) -> Refusal:
    """More requests than the token may make."""
    return Refusal(
        429,
        "too_often",
        f"this token asks too often: try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def too_large(most: int) -> Refusal:
    """A body of more bytes than are taken."""
    return Refusal(413, "too_large", f"the body is too large: send at most {most} bytes, in several requests")


def too_many(what: str, most: int) -> Refusal:
    """More than is kept of one user."""
    return Refusal(
        413,
        "too_many",
        f"at most {most:,} {what} are kept for you, and these would be more: POST /v1/items/delete takes "
        "items away, with their uses; or ask whoever runs this service to allow for more",
    )


def too_slow() -> Refusal:
    """A body that does not arrive."""
    return Refusal(
        408, "too_slow", "the body did not arrive in time: send it again", headers={"Connection": "close"}
    )


def busy() -> Refusal:
    """More requests than threads, and the line is full."""
    return Refusal(
        503, "busy", "too many requests are waiting: try again in a second", headers={"Retry-After": "1"}
    )


def timed_out() -> Refusal:
    """Work that takes too long."""
    return Refusal(
        503,
        "timed_out",
        "this took too long and was given up: try again, or ask for less",
        headers={"Retry-After": "1"},
    )


def broken() -> Refusal:
    """A fault of the service's own."""
    return Refusal(
        500,
        "broken",
        "something went wrong here, not in your request: tell whoever runs this service the request id",
    )


def invalid(where: Sequence[str]) -> Refusal:
    """A request that is not what it should be."""
    return Refusal(422, "invalid", "parts of the request cannot be taken as they are: see where", where)


def refusal_of(error: ContextuneError, where: str) -> Refusal:
    """What to say for an error of the library; `where` says what in this request can be wrong, and how."""
    match error:
        case UnknownUserError():
            return Refusal(
                404, "unknown_user", "nothing is kept for you yet: PUT /v1/me first; {} will do as a body"
            )
        case LimitError():
            return too_many(error.what, error.most)
        case InvalidRequestError() | InvalidDataError() | PlanError():
            return invalid([where] if where else [])
        case StoreError():
            return Refusal(
                503,
                "store",
                "the store cannot be used right now: try again in a moment",
                headers={"Retry-After": "5"},
            )
        case _:
            return broken()
