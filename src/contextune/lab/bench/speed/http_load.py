"""HTTP load test: throughput and latency of the service, and a check for leaks between users.

The service runs in its own processes over a store of many users. Clients send requests over HTTP as random
users. Every item carries its owner's id, and every answer is checked for items of other users.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.client import HTTPConnection, HTTPException
from itertools import cycle, islice
from pathlib import Path
from random import Random
from threading import Lock, local
from time import monotonic, perf_counter, sleep
from typing import Any

import numpy as np

from contextune.datasets import Persona, load_persona
from contextune.embed import default_embedder
from contextune.errors import StoreError
from contextune.serve.http.settings import ServiceLimits, ServiceSettings
from contextune.serve.http.tokens import TokenFile
from contextune.store import SQLiteStore, text_digest
from contextune.tuner import Tuner
from contextune.types import Item, Progress

_OWNER_FIELD = "belongs_to"
"""Field that holds the owner; no application has it, so it is not part of any text or score."""
_SERVE = """
import sys
from contextune.serve.http.run import ListenOptions, run
from contextune.serve.http.settings import ServiceSettings
run(ServiceSettings.from_json(sys.argv[1]), ListenOptions(port=int(sys.argv[2]), workers=int(sys.argv[3])))
"""
_START_TIMEOUT = 120.0
"""Seconds until the service must be up."""


@dataclass(frozen=True, slots=True)
class LoadProfile:
    """Load to put on the service."""

    requests: int = 2000
    clients: int = 8
    """Concurrent clients."""
    rate: float | None = None
    """Requests per second, sent on schedule even if earlier ones are pending; None: as fast as possible."""
    fresh: bool = True
    """Make every text unique, so that no embedding is cached."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Results; latencies in milliseconds, from the time a request was due."""

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
    """Requests answered with a status other than 200."""

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds


@dataclass(frozen=True, slots=True)
class LoadClient:
    """A user with a token and request bodies."""

    user: str
    token: str
    bodies: tuple[dict[str, str], ...]


def measure(
    personas: Sequence[Persona],
    profile: LoadProfile,
    *,
    users: int = 60,
    workers: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> LoadResult:
    """Start the service over `users` copies of the personas and request context from it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        threads = threads or max(1, (os.cpu_count() or 1) // workers)
        limits = ServiceLimits(rate=1e6, burst=1_000_000, waiting=10_000, timeout=120)
        settings = ServiceSettings(
            folder / "store.db", folder / "tokens.json", threads=threads, limits=limits
        )
        with SQLiteStore(settings.store) as store:
            clients = create_users(store, personas, users, TokenFile(settings.tokens))
        with running_service(settings, workers, folder / "log") as port:
            # warm up every process for every user, with texts other than the timed ones
            warmup = replace(profile, requests=8 * users, rate=None)
            LoadRun(port, clients, warmup, first=profile.requests).run()
            return LoadRun(port, clients, profile).run(progress)


def create_users(
    store: SQLiteStore, personas: Sequence[Persona], users: int, tokens: TokenFile
) -> list[LoadClient]:
    """Store copies of the personas with marked items; embeddings are computed once per persona."""
    embedder = default_embedder()
    tuner = Tuner(store, embedder=embedder)
    first: dict[str, str] = {}
    hits: list[LoadClient] = []
    for number, persona in enumerate(islice(cycle(personas), users)):
        user = f"{persona.id}-{number}"
        items = tuple(Item(item.id, item.app, {**item.fields, _OWNER_FIELD: user}) for item in persona.items)
        load_persona(store, replace(persona, user=replace(persona.user, id=user), items=items))
        original = first.setdefault(persona.id, user)
        if original == user:
            tuner.prepare(user)
        else:
            digests = [text_digest(item.text) for item in items]
            store.put_vectors(user, embedder.name, store.vectors(original, embedder.name, digests))
            store.put_enriched_vectors(user, embedder.name, store.enriched_vectors(original, embedder.name))
        bodies = tuple(
            {"text": query.text, "time": query.time.isoformat(), "place": query.place}
            for query in persona.queries
        )
        hits.append(LoadClient(user, tokens.add(user), bodies))
    return hits


class LoadRun:
    """Sends requests of random users, in an order fixed by a seed."""

    def __init__(
        self, port: int, clients: Sequence[LoadClient], profile: LoadProfile, *, first: int = 0
    ) -> None:
        self._port = port
        self._first = first
        self._clients = clients
        self._asking = profile
        self._connections = local()
        self._lock = Lock()
        self._items = self._leaks = self._failures = self._done = 0

    def run(self, progress: Progress | None = None) -> LoadResult:
        """Send all requests and check the answers."""
        profile = self._asking
        order = Random(0)  # noqa: S311  # no secrets here
        users = [order.randrange(len(self._clients)) for _ in range(profile.requests)]
        with ThreadPoolExecutor(profile.clients) as pool:
            start = perf_counter()
            ask = partial(self._ask, start=start, progress=progress)
            seconds_each = list(pool.map(ask, range(profile.requests), users))
            seconds = perf_counter() - start
        p50, p95, p99 = np.percentile(np.array(seconds_each) * 1000, [50, 95, 99]).tolist()
        return LoadResult(
            profile.requests,
            len(self._clients),
            seconds,
            p50,
            p95,
            p99,
            self._items,
            self._leaks,
            self._failures,
        )

    def _ask(self, number: int, users: int, *, start: float, progress: Progress | None) -> float:
        profile, client = self._asking, self._clients[users]
        due = perf_counter()
        if profile.rate:
            due = start + number / profile.rate
            sleep(max(0.0, due - perf_counter()))
        bodies = client.bodies[number % len(client.bodies)]
        text = f"{bodies['text']} {self._first + number}" if profile.fresh else bodies["text"]
        status, answer = self._post(client, json.dumps({**bodies, "text": text}))
        seconds_each = perf_counter() - due
        hits: list[Any] = json.loads(answer)["context"] if status == 200 else []
        foreign = sum(hit["item"]["fields"].get(_OWNER_FIELD) != client.user for hit in hits)
        with self._lock:
            self._items += len(hits)
            self._leaks += foreign
            self._failures += status != 200
            self._done += 1
            if progress and self._done % 50 == 0:
                progress(self._done, profile.requests)
        return seconds_each

    def _post(self, client: LoadClient, body: str) -> tuple[int, bytes]:
        connection: HTTPConnection | None = getattr(self._connections, "open", None)
        if connection is None:
            connection = self._connections.open = HTTPConnection("127.0.0.1", self._port, timeout=120)
        headers = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", "/v1/context", body.encode(), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException):
            connection.close()
            return 0, b""


@contextmanager
def running_service(settings: ServiceSettings, workers: int, log: Path) -> Generator[int]:
    """Run the service in its own processes; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as hits:
        port: int = hits.getsockname()[1]
    command = [sys.executable, "-c", _SERVE, settings.to_json(), str(port), str(workers)]
    # keep the request log, as in production, but do not show it
    with log.open("ab") as target:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=target, stderr=target)  # noqa: S603
    try:
        end = monotonic() + _START_TIMEOUT
        while not all(_is_healthy(port) for _ in range(2 * workers)):
            if process.poll() is not None or monotonic() > end:
                raise StoreError(
                    f"the service did not start, its log ends with: {log.read_text(encoding='utf-8')[-500:]}"
                )
            sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def _is_healthy(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
