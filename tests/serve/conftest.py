"""The service as it runs: uvicorn in a thread, over HTTP, on a store in a file."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import sleep

import httpx
import pytest
import uvicorn

from contextune.serve.http.app import create_app
from contextune.serve.http.run import SERVER
from contextune.serve.http.settings import ServiceLimits, ServiceSettings
from contextune.serve.http.tokens import TokenFile

PLENTY = ServiceLimits(rate=10_000, burst=10_000)


@dataclass(frozen=True)
class Running:
    """A service that listens, and the files it works on."""

    url: str
    settings: ServiceSettings

    def client(self, user: str) -> httpx.Client:
        """A client with a new token of the user's."""
        return with_token(self.url, TokenFile(self.settings.tokens).add(user))


def with_token(url: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60)


@contextmanager
def running(folder: Path, limits: ServiceLimits = PLENTY, threads: int = 2) -> Generator[Running]:
    settings = ServiceSettings(folder / "store.db", folder / "tokens.json", threads=threads, limits=limits)
    config = uvicorn.Config(create_app(settings), port=0, log_level="critical", **SERVER)
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the service did not start"
            sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Running(f"http://127.0.0.1:{port}", settings)
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("service")) as found:
        yield found


def mail(name: str, subject: str, content: str = "", date: str = "2024-05-13T09:00") -> dict[str, object]:
    return {"id": name, "app": "Mail", "fields": {"subject": subject, "content": content, "date": date}}
