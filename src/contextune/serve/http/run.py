"""Runs the service with uvicorn, in one process or in several that share a socket and the store."""

import os
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextune.errors import InvalidDataError, MissingExtraError, StoreError
from contextune.serve.hosts import allowed_hosts
from contextune.serve.http.observability import configure_logging
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenFile
from contextune.store import open_store
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.large.open import open_tools

if TYPE_CHECKING:
    from fastapi import FastAPI

_SETTINGS_VAR = "CONTEXTUNE_SERVE"
"""Environment variable that passes the settings to uvicorn's worker processes."""
UVICORN_OPTIONS: dict[str, Any] = {
    "http": "contextune.serve.http.uvicorn_protocol:HttpProtocol",
    "ws": "none",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    # longer than clients and proxies keep idle connections: a request may be under way when this end closes
    "timeout_keep_alive": 75,
    "proxy_headers": False,  # addresses are counted as they connect, not as a header claims
}


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Address, processes and TLS files."""

    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    certificate: str | None = None
    key: str | None = None
    grace: int = 30
    """Seconds that requests in flight get on shutdown."""
    start_timeout: int = 120
    """Seconds in which a worker process must start and answer its parent, which otherwise replaces it."""


def run(settings: ServiceSettings, options: ListenOptions) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are answered first."""
    try:
        import_module("fastapi")  # fail here rather than in every worker
        import uvicorn
    except ModuleNotFoundError as error:
        raise MissingExtraError("the HTTP service", "serve") from error
    _check_files(settings)
    settings = replace(settings, hosts=allowed_hosts(options.host, settings.hosts).names)
    with _worker_environment(settings, share_metrics=options.workers > 1):
        configure_logging()
        uvicorn.run(
            "contextune.serve.http.run:app",
            factory=True,
            host=options.host,
            port=options.port,
            workers=options.workers,
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
            **UVICORN_OPTIONS,
            timeout_graceful_shutdown=options.grace,
            # the default of five seconds kills workers on a slow machine while they load, over and over
            timeout_worker_healthcheck=options.start_timeout,
        )


def _check_files(settings: ServiceSettings) -> None:
    """Raise for an unusable file here, once, rather than in every worker."""
    if settings.tokens:
        TokenFile(settings.tokens).all()
    open_store(settings.store).close()
    if settings.catalog is None:
        return
    if not isinstance(settings.catalog, Path):
        with ExitStack() as stack:
            open_tools(stack, settings.catalog)
        return
    if not settings.catalog.exists():
        raise InvalidDataError(
            f"no such catalogue: {str(settings.catalog)!r} (create it with 'contextune tools add …')"
        )
    with CatalogFile(settings.catalog) as catalog_file:
        if not catalog_file.count():
            raise InvalidDataError(
                f"empty catalogue: {str(settings.catalog)!r} (add tools with 'contextune tools add …')"
            )


def app() -> "FastAPI":
    """The application factory that uvicorn calls in each worker process."""
    from contextune.serve.http.app import create_app

    settings = os.environ.get(_SETTINGS_VAR)
    if settings is None:
        raise StoreError(f"{_SETTINGS_VAR} is not set: start the service with 'contextune serve'")
    configure_logging()
    return create_app(ServiceSettings.from_json(settings))


@contextmanager
def _worker_environment(settings: ServiceSettings, *, share_metrics: bool) -> Generator[None]:
    """Set the environment variables that worker processes inherit, and restore them afterwards."""
    with tempfile.TemporaryDirectory(prefix="contextune-") as folder:
        variables = {_SETTINGS_VAR: settings.to_json()}
        if share_metrics:
            variables["PROMETHEUS_MULTIPROC_DIR"] = folder
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
