"""What both clients share: options, responses as values or exceptions, waiting for another attempt."""

from dataclasses import dataclass
from typing import Any

from contextune.client.calls import Call
from contextune.client.errors import ConnectionFailedError, ServiceError, UnavailableError, service_error
from contextune.errors import InvalidRequestError, MissingExtraError

try:
    import httpx
except ModuleNotFoundError as error:
    raise MissingExtraError("the client of the HTTP service", "client") from error

_REFUSED = "busy"
"""Code of a request that the service refused before it was processed."""


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
