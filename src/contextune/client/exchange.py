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

    def wait(self, error: ServiceError, call: Call, attempt: int) -> float | None:
        """Seconds to wait before another attempt; None to give up.

        Only a 503 with `Retry-After` is repeated, so that the service decides when.
        """
        if not isinstance(error, UnavailableError) or error.retry_after is None:
            return None
        if attempt >= self.count or error.retry_after > self.max_wait:
            return None
        return error.retry_after if call.repeatable or error.code == _REFUSED else None

    def may_reconnect(self, error: "httpx.TransportError", call: Call, attempt: int) -> bool:
        """Whether to repeat a call at once: the service had ended the idle connection."""
        return (
            isinstance(error, httpx.RemoteProtocolError) and call.repeatable and attempt < min(1, self.count)
        )


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


def call_options(call: Call) -> dict[str, Any]:
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


def connection_failed(error: httpx.TransportError) -> ConnectionFailedError:
    """The exception for a request without a response."""
    reason = "it timed out" if isinstance(error, httpx.TimeoutException) else "the connection failed"
    return ConnectionFailedError(
        f"no answer from the service: {reason}; check that it runs, its URL and the timeout"
    )
