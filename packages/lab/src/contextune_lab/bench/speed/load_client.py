"""HTTP client of the load tests: many users at a fixed rate or as fast as possible, with a check for leaks.

Every item carries its owner's id, and every answer is checked for items of other users.
"""

import asyncio
import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from random import Random
from statistics import median
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np

from contextune.types import Progress

OWNER_FIELD = "belongs_to"
"""Field that holds the owner; no application has it, so it is not part of any text or score."""
_BALANCE = 1.25
"""A process gets at most so many times the requests that all have on average."""


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
    writes: float = 0.0
    """Share of the requests that write: three of four record a use, the others store an item."""


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
    bytes_sent: int = 0
    """To the service, in heads and bodies of requests."""
    bytes_received: int = 0
    refusal_p50: float = 0.0
    """Median milliseconds until a request was refused."""

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
    item: str = ""
    """Id of an item of the user, for uses."""


class LoadRun:
    """Sends requests of random users, in an order fixed by a seed."""

    def __init__(
        self,
        port: int | Sequence[int],
        clients: Sequence[LoadClient],
        profile: LoadProfile,
        *,
        first: int = 0,
    ) -> None:
        """With several ports, the requests of a user go to one of them, as a proxy distributes them."""
        self._ports = [port] if isinstance(port, int) else port
        self._first = first
        self._clients = clients
        self._profile = profile
        self._idle: dict[int, list[_ClientConnection]] = {port: [] for port in self._ports}
        self._open = dict.fromkeys(self._ports, 0)
        """Requests without an answer, by port."""
        self._sent = self._received = 0
        self._latencies: list[float] = []
        self._refusals: list[float] = []
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
            self._sent,
            self._received,
            1000 * median(self._refusals or [0.0]),
        )

    async def _run(self, progress: Progress | None) -> float:
        profile = self._profile
        order = Random(self._first)  # noqa: S311  # no secrets here; other users than the run before
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
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        return seconds

    async def _ask_all(self, jobs: Iterator[tuple[int, LoadClient]], progress: Progress | None) -> None:
        for number, client in jobs:
            await self._ask(number, client, perf_counter(), progress)

    async def _ask(self, number: int, client: LoadClient, due: float, progress: Progress | None) -> None:
        profile = self._profile
        method, path, body = self._request(number, client)
        status, answer = await self._send(client, method, path, json.dumps(body), due)
        if status == HTTPStatus.OK:
            self._latencies.append(perf_counter() - due)
            hits: list[Any] = json.loads(answer).get("context", [])
            self._items += len(hits)
            self._leaks += sum(hit["item"]["fields"].get(OWNER_FIELD) != client.user for hit in hits)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            self._refused += 1
            self._refusals.append(perf_counter() - due)
        self._late += status == HTTPStatus.REQUEST_TIMEOUT
        self._done += 1
        if progress and self._done % 50 == 0:
            progress(self._done, profile.requests)

    def _request(self, number: int, client: LoadClient) -> tuple[str, str, dict[str, Any]]:
        """Method, path and body of a request."""
        profile, count = self._profile, self._first + number
        writes = int((number + 1) * profile.writes) - int(number * profile.writes)
        if writes and int(number * profile.writes) % 4 == 3:
            fields = {"title": f"Note {count}", OWNER_FIELD: client.user}
            return "PUT", "/v1/items", {"items": [{"id": f"n{count % 8}", "app": "Notes", "fields": fields}]}
        if writes:
            time = f"2024-05-{count % 28 + 1:02}T{count % 24:02}:{count % 60:02}:{count % 59:02}"
            return "POST", "/v1/uses", {"uses": [{"item": client.item, "time": time}]}
        body = client.bodies[number % len(client.bodies)]
        text = f"{body['text']} {count}" if profile.fresh else body["text"]
        return "POST", "/v1/context", {**body, "text": text}

    async def _send(
        self, client: LoadClient, method: str, path: str, body: str, due: float
    ) -> tuple[int, bytes]:
        """Status and body of the response; status 408 when the client lost patience, 0 for other errors."""
        connection = None
        try:
            async with asyncio.timeout(max(0.0, due + self._profile.patience - perf_counter())):
                with self._route(client.user) as port:
                    while True:
                        reused = connection = self._reuse(port)
                        connection = connection or await _ClientConnection.open(port)
                        try:
                            status, answer = await connection.send(method, path, client.token, body.encode())
                        except asyncio.IncompleteReadError as error:
                            if not reused or error.partial:
                                raise
                            connection.close()  # the service had ended it while it was idle
                        else:
                            break
        except TimeoutError:
            status, answer = int(HTTPStatus.REQUEST_TIMEOUT), b""
        except (OSError, EOFError, ValueError):
            status, answer = 0, b""
        else:
            self._idle[port].append(connection)
            self._sent, self._received = self._sent + connection.sent, self._received + connection.received
            return status, answer
        if connection:
            connection.close()
        return status, answer

    @contextmanager
    def _route(self, user: str) -> Generator[int]:
        """The port that a proxy would choose: by a hash of the user, but no process with far more requests.

        As Envoy does with `hash_balance_factor`: else a process that is behind keeps the users waiting while
        others are idle.
        """
        limit = _BALANCE * (sum(self._open.values()) + 1) / len(self._ports)
        place = crc32(user.encode())
        ports = [self._ports[(place + step) % len(self._ports)] for step in range(len(self._ports))]
        port = next((port for port in ports if self._open[port] < limit), ports[0])
        self._open[port] += 1
        try:
            yield port
        finally:
            self._open[port] -= 1

    def _reuse(self, port: int) -> "_ClientConnection | None":
        """A connection that the service has not closed meanwhile."""
        while self._idle[port]:
            connection = self._idle[port].pop()
            if connection.is_open:
                return connection
        return None


class _ClientConnection:
    """A persistent HTTP/1.1 connection; far cheaper than a full client, as it shares the cores."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.sent = self.received = 0
        """Bytes of the last request and of its response."""

    @classmethod
    async def open(cls, port: int) -> "_ClientConnection":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def send(self, method: str, path: str, token: str, body: bytes) -> tuple[int, bytes]:
        """Send a request and read the response."""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        await self._writer.drain()
        response = await self._reader.readuntil(b"\r\n\r\n")
        status, *lines = response.decode("latin-1").splitlines()
        headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        answer = await self._reader.readexactly(int(headers["content-length"]))
        self.sent, self.received = len(head) + len(body), len(response) + len(answer)
        return int(status.split()[1]), answer

    @property
    def is_open(self) -> bool:
        """Whether the service has not closed it."""
        return not self._reader.at_eof() and not self._writer.is_closing()

    def close(self) -> None:
        """Disconnect at once."""
        self._writer.transport.abort()
