"""Errors of the service as exceptions, with the service's own message."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from contextune.errors import ContextuneError


class ServiceError(ContextuneError):
    """The service answered with an error.

    `code` is machine-readable, `where` lists the invalid fields, and `request_id` is the id under which the
    service logged the error. `retry_after` are the seconds to wait before another attempt, if it says so.
    """

    statuses: ClassVar[tuple[int, ...]] = ()

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str = "",
        where: tuple[str, ...] = (),
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{message} ({'; '.join(where)})" if where else message)
        self.status, self.code, self.where = status, code, where
        self.request_id, self.retry_after = request_id, retry_after


class InvalidBodyError(ServiceError):
    """The request is not valid; `where` lists the fields."""

    statuses = (400, 422)


class UnauthorizedError(ServiceError):
    """The token is missing or invalid."""

    statuses = (401,)


class NotFoundError(ServiceError):
    """The user is unknown (`put_me` creates it), or the service has no such route."""

    statuses = (404, 405)


class TooLargeError(ServiceError):
    """The body is too large, or a quota of the user is exceeded."""

    statuses = (413,)


class RateLimitError(ServiceError):
    """Too many requests in a short time."""

    statuses = (429,)


class UnavailableError(ServiceError):
    """The service is overloaded, timed out, or cannot reach its store."""

    statuses = (503,)


class ConnectionFailedError(ContextuneError):
    """No answer from the service: the connection failed or timed out."""


def service_error(status: int, body: object, headers: Mapping[str, str]) -> ServiceError:
    """The exception for a response."""
    detail = _mapping(_mapping(body).get("error"))
    kind = next((kind for kind in ServiceError.__subclasses__() if status in kind.statuses), ServiceError)
    return kind(
        str(detail.get("message") or f"status {status} without a message: is this a Contextune service?"),
        status=status,
        code=str(detail.get("code") or ""),
        where=tuple(map(str, detail.get("where") or ())),
        request_id=str(detail.get("request") or ""),
        retry_after=_seconds(headers.get("retry-after")),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text is not None else None
    except ValueError:  # a date, which this service does not send
        return None
