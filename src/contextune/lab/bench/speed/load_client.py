"""HTTP client of the load tests: many users at a fixed rate or as fast as possible, with a check for leaks.

Every item carries its owner's id, and every answer is checked for items of other users.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

from contextune.types import Progress

OWNER_FIELD = "belongs_to"
"""Field that holds the owner; no application has it, so it is not part of any text or score."""


@dataclass(frozen=True, slots=True)
class LoadProfile:
    """Load to put on the service."""

    requests: int = 2000
    clients: int = 8
    """Concurrent clients, if there is no rate."""
    rate: float | None = None
    """Requests per second, sent on schedule even if earlier ones are pending; None: as fast as possible."""
    fresh: bool = True
    """Make every text unique, so that no embedding is cached."""
    patience: float = 120.0
    """Seconds after which a client disconnects."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Results; latencies in milliseconds, from the time a request was due, of the requests answered."""

    requests: int
    users: int
    seconds: float
    p50: float
    p95: float
    p99: float
    items: int
    """Items in all answers."""
    leaks: int
    """Items that belong to another user."""
    failures: int
    """Requests without an answer: refused, too late, or failed otherwise."""
    refused: int
    """Requests answered with 503."""
    late: int
    """Requests whose clients lost patience."""

    @property
    def rate(self) -> float:
        """Answers per second."""
        return (self.requests - self.failures) / self.seconds


@dataclass(frozen=True, slots=True)
class LoadClient:
    """A user with a token and request bodies."""

    user: str
    token: str
    bodies: tuple[dict[str, str], ...]


class LoadRun:
    """Sends requests of random users, in an order fixed by a seed."""

    def __init__(
        self, port: int, clients: Sequence[LoadClient], profile: LoadProfile, *, first: int = 0
    ) -> None:
        self._port = port
        self._first = first
        self._clients = clients
        self._profile = profile
        self._idle: list[_Connection] = []
        self._latencies: list[float] = []
        self._items = self._leaks = self._refused = self._late = self._done = 0

    def run(self, progress: Progress | None = None) -> LoadResult:
        """Send all requests and check the answers."""
        seconds = asyncio.run(self._run(progress))
        latencies = np.array(self._latencies or [0.0]) * 1000
        p50, p95, p99 = np.percentile(latencies, [50, 95, 99]).tolist()
        failures = self._profile.requests - len(self._latencies)
        return LoadResult(
            self._profile.requests,
            len(self._clients),
            seconds,
            p50,
            p95,
            p99,
            self._items,
            self._leaks,
            failures,
            self._refused,
            self._late,
        )

    async def _run(self, progress: Progress | None) -> float:
        profile = self._profile
        order = Random(0)  # noqa: S311  # no secrets here
        clients = [self._clients[order.randrange(len(self._clients))] for _ in range(profile.requests)]
        start = perf_counter()
        async with asyncio.TaskGroup() as tasks:
            if profile.rate:
                for number, client in enumerate(clients):
                    due = start + number / profile.rate
                    await asyncio.sleep(max(0.0, due - perf_counter()))
                    tasks.create_task(self._ask(number, client, due, progress))
            else:
                jobs = iter(enumerate(clients))
                for _ in range(profile.clients):
                    tasks.create_task(self._ask_all(jobs, progress))
        seconds = perf_counter() - start
        for connection in self._idle:
            connection.close()
        return seconds

    async def _ask_all(self, jobs: Iterator[tuple[int, LoadClient]], progress: Progress | None) -> None:
        for number, client in jobs:
            await self._ask(number, client, perf_counter(), progress)

    async def _ask(self, number: int, client: LoadClient, due: float, progress: Progress | None) -> None:
        profile = self._profile
        body = client.bodies[number % len(client.bodies)]
        text = f"{body['text']} {self._first + number}" if profile.fresh else body["text"]
        status, answer = await self._post(client.token, json.dumps({**body, "text": text}), due)
        if status == HTTPStatus.OK:
            self._latencies.append(perf_counter() - due)
            hits: list[Any] = json.loads(answer)["context"]
            self._items += len(hits)
            self._leaks += sum(hit["item"]["fields"].get(OWNER_FIELD) != client.user for hit in hits)
        self._refused += status == HTTPStatus.SERVICE_UNAVAILABLE
        self._late += status == HTTPStatus.REQUEST_TIMEOUT
        self._done += 1
        if progress and self._done % 50 == 0:
            progress(self._done, profile.requests)

    async def _post(self, token: str, body: str, due: float) -> tuple[int, bytes]:
        """Status and body of the response; status 408 when the client lost patience, 0 for other errors."""
        connection = None
        try:
            async with asyncio.timeout(max(0.0, due + self._profile.patience - perf_counter())):
                connection = self._reuse() or await _Connection.open(self._port)
                status, answer = await connection.post("/v1/context", token, body.encode())
        except TimeoutError:
            status, answer = int(HTTPStatus.REQUEST_TIMEOUT), b""
        except (OSError, EOFError, ValueError):
            status, answer = 0, b""
        else:
            self._idle.append(connection)
            return status, answer
        if connection:
            connection.close()
        return status, answer

    def _reuse(self) -> "_Connection | None":
        """A connection that the service has not closed meanwhile."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None


class _Connection:
    """A persistent HTTP/1.1 connection; far cheaper than a full client, as it shares the cores."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> "_Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def post(self, path: str, token: str, body: bytes) -> tuple[int, bytes]:
        """Send a request and read the response."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        await self._writer.drain()
        status, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        answer = await self._reader.readexactly(int(headers["content-length"]))
        return int(status.split()[1]), answer

    @property
    def is_open(self) -> bool:
        """Whether the service has not closed it."""
        return not self._reader.at_eof() and not self._writer.is_closing()

    def close(self) -> None:
        """Disconnect at once."""
        self._writer.transport.abort()
