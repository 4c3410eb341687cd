"""Typed client of the HTTP service, `Client` and `AsyncClient`; install with `contextune[client]`.

from contextune.client import Client

with Client("http://127.0.0.1:8765", token) as client:
    client.ask("Did she ever get back to me?")
"""

from contextune.client.clients import AsyncClient, Client
from contextune.client.errors import (
    ConnectionFailedError,
    InvalidBodyError,
    NotFoundError,
    RateLimitError,
    ServiceError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
)

__all__ = [
    "AsyncClient",
    "Client",
    "ConnectionFailedError",
    "InvalidBodyError",
    "NotFoundError",
    "RateLimitError",
    "ServiceError",
    "TooLargeError",
    "UnauthorizedError",
    "UnavailableError",
]
