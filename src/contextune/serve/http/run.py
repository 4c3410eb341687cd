"""Runs the service: in this process, or in several that share a socket and the store."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from contextune.errors import InvalidDataError, MissingExtraError, StoreError
from contextune.serve.http.json_logs import start_logs
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenFile
from contextune.store import SQLiteStore
from contextune.tools.catalog_file import CatalogFile

if TYPE_CHECKING:
    from fastapi import FastAPI

_HANDED = "CONTEXTUNE_SERVE"
"""The settings, for processes that are started by uvicorn."""
SERVER: dict[str, Any] = {
    "http": "contextune.serve.http.uvicorn_protocol:HttpProtocol",
    "ws": "none",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,  # no use is made of who is at the other end
}
"""What is the same for every service."""


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Where to listen, and with how many processes."""

    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    certificate: str | None = None
    key: str | None = None
    grace: int = 30
    """Seconds that requests in flight have to end in when the service is stopped."""


def run(settings: ServiceSettings, listening: ListenOptions) -> None:
    """Serve until told to stop by SIGTERM or SIGINT; requests in flight are answered first."""
    try:
        import_module("fastapi")  # to say it here, and not in every worker
        import uvicorn
    except ModuleNotFoundError as error:
        raise MissingExtraError("the HTTP service", "serve") from error
    _check(settings)
    with _handed(settings, shared=listening.workers > 1):
        start_logs()
        uvicorn.run(
            "contextune.serve.http.run:app",
            factory=True,
            host=listening.host,
            port=listening.port,
            workers=listening.workers,
            ssl_certfile=listening.certificate,
            ssl_keyfile=listening.key,
            **SERVER,
            timeout_graceful_shutdown=listening.grace,
        )


def _check(settings: ServiceSettings) -> None:
    """Say what is wrong with a file here, in one line, and not in every worker."""
    TokenFile(settings.tokens).all()
    SQLiteStore(settings.store).close()
    if settings.catalog and not settings.catalog.exists():
        raise InvalidDataError(
            f"there is no catalogue {str(settings.catalog)!r}: contextune tools add … makes one"
        )
    if settings.catalog:
        with CatalogFile(settings.catalog) as shelf:
            if not shelf.catalog():
                raise InvalidDataError(f"{str(settings.catalog)!r} holds no tools: contextune tools add …")


def app() -> "FastAPI":
    """The application, in a process that `run` has started."""
    from contextune.serve.http.app import create_app

    handed = os.environ.get(_HANDED)
    if handed is None:
        raise StoreError("there are no settings: start the service with contextune serve")
    start_logs()
    return create_app(ServiceSettings.from_json(handed))


@contextmanager
def _handed(settings: ServiceSettings, *, shared: bool) -> Generator[None]:
    """Settings and a folder for figures, to processes that inherit this one's environment."""
    with tempfile.TemporaryDirectory(prefix="contextune-") as folder:
        given = {_HANDED: settings.to_json()} | ({"PROMETHEUS_MULTIPROC_DIR": folder} if shared else {})
        before = {name: os.environ.get(name) for name in given}
        os.environ.update(given)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
