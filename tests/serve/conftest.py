"""A live HTTP service for tests: uvicorn in a thread, on a store in a file."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import httpx
import pytest
import uvicorn
from tests.serve.waiting import PATIENCE, wait_until

from contextune.serve.http.app import create_app
from contextune.serve.http.run import UVICORN_OPTIONS
from contextune.serve.http.settings import ServiceLimits, ServiceSettings
from contextune.serve.http.tokens import TokenFile

NO_LIMITS = ServiceLimits(
    rate=10_000,
    burst=10_000,
    cpu=1e6,
    cpu_burst=1e9,
    timeout=PATIENCE,
    waiting=10_000,
    max_wait=PATIENCE,
    head_timeout=PATIENCE,
)
"""Limits that no test reaches, however slow the machine is."""


@dataclass(frozen=True)
class LiveService:
    """A listening service and its files."""

    url: str
    settings: ServiceSettings

    def anonymous_client(self) -> httpx.Client:
        """A client without a token."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE)

    def client(self, user: str) -> httpx.Client:
        """A client with a new token of the user."""
        return client_with_token(self.url, TokenFile(self.tokens).add(user))

    @property
    def tokens(self) -> Path:
        """The file of tokens."""
        assert self.settings.tokens
        return self.settings.tokens


def client_with_token(url: str, token: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=url, headers=headers, timeout=PATIENCE)


@contextmanager
def running(
    folder: Path,
    limits: ServiceLimits = NO_LIMITS,
    threads: int = 2,
    store: str | None = None,
    ranker: Path | None = None,
    *,
    wait: bool = True,
) -> Generator[LiveService]:
    """A service over a store in the folder; or over `store`, which has its tokens."""
    tokens = None if store else folder / "tokens.json"
    settings = ServiceSettings(
        store or folder / "store.db", tokens, threads=threads, limits=limits, ranker=ranker, wait=wait
    )
    config = uvicorn.Config(create_app(settings), port=0, log_level="critical", **UVICORN_OPTIONS)
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        assert thread.is_alive(), "the service did not start"
        port = server.servers[0].sockets[0].getsockname()[1]
        yield LiveService(f"http://127.0.0.1:{port}", settings)
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    with running(tmp_path_factory.mktemp("service")) as live_service:
        yield live_service


def mail(item_id: str, subject: str, content: str = "", date: str = "2024-05-13T09:00") -> dict[str, object]:
    return {"id": item_id, "app": "Mail", "fields": {"subject": subject, "content": content, "date": date}}
