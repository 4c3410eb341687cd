"""How much the HTTP service holds, and whether it ever gives anybody what is somebody else's.

The service runs in processes of its own, over a store of many users; clients ask it over HTTP, each
request as another user. Every item is marked with its owner, and every answer is looked through.
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

_OWNER = "belongs_to"
"""A field that no application has, so that it is in no text and changes no rank."""
_SERVE = """
import sys
from contextune.serve.http.run import Listening, run
from contextune.serve.http.settings import Settings
run(Settings.from_json(sys.argv[1]), Listening(port=int(sys.argv[2]), workers=int(sys.argv[3])))
"""
_STARTING = 120.0
"""Seconds in which the service has to be there."""


@dataclass(frozen=True, slots=True)
class LoadProfile:
    """How the service is asked."""

    requests: int = 2000
    clients: int = 8
    """How many ask at once."""
    rate: float | None = None
    """Requests a second, sent when they are due whether or not earlier ones are answered; None: at once."""
    fresh: bool = True
    """Whether no text is said twice; one that was said before is not embedded again."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came of it; milliseconds are from when a request was due."""

    requests: int
    users: int
    seconds: float
    p50: float
    p95: float
    p99: float
    items: int
    """Items in all answers."""
    leaks: int
    """Items among them that belong to somebody else."""
    failures: int
    """Requests that were not answered with 200."""

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


@dataclass(frozen=True, slots=True)
class LoadClient:
    """Somebody with a token and things to say."""

    user: str
    token: str
    said: tuple[dict[str, str], ...]


def measure(
    personas: Sequence[Persona],
    asking: LoadProfile,
    *,
    users: int = 60,
    workers: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> LoadResult:
    """Start the service over so many users, copies of the personas, and ask it for context."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        threads = threads or max(1, (os.cpu_count() or 1) // workers)
        limits = ServiceLimits(rate=1e6, burst=1_000_000, waiting=10_000, timeout=120)
        settings = ServiceSettings(
            folder / "store.db", folder / "tokens.json", threads=threads, limits=limits
        )
        with SQLiteStore(settings.store) as store:
            clients = make_users(store, personas, users, TokenFile(settings.tokens))
        with served(settings, workers, folder / "log") as port:
            # first so often that every process has answered everybody, with other texts than those timed
            warm = replace(asking, requests=8 * users, rate=None)
            RequestSequence(port, clients, warm, first=asking.requests).run()
            return RequestSequence(port, clients, asking).run(progress)


def make_users(
    store: SQLiteStore, personas: Sequence[Persona], users: int, tokens: TokenFile
) -> list[LoadClient]:
    """Copies of the personas, their items marked; what is embedded for the first of each is copied too."""
    embedder = default_embedder()
    tuner = Tuner(store, embedder=embedder)
    first: dict[str, str] = {}
    found: list[LoadClient] = []
    for number, persona in enumerate(islice(cycle(personas), users)):
        user = f"{persona.id}-{number}"
        items = tuple(Item(item.id, item.app, {**item.fields, _OWNER: user}) for item in persona.items)
        load_persona(store, replace(persona, user=replace(persona.user, id=user), items=items))
        original = first.setdefault(persona.id, user)
        if original == user:
            tuner.prepare(user)
        else:
            digests = [text_digest(item.text) for item in items]
            store.put_vectors(user, embedder.name, store.vectors(original, embedder.name, digests))
            store.put_portraits(user, embedder.name, store.portraits(original, embedder.name))
        said = tuple(
            {"text": query.text, "time": query.time.isoformat(), "place": query.place}
            for query in persona.queries
        )
        found.append(LoadClient(user, tokens.add(user), said))
    return found


class RequestSequence:
    """Requests, each the next of some user, in an order that only the seed decides."""

    def __init__(
        self, port: int, clients: Sequence[LoadClient], asking: LoadProfile, *, first: int = 0
    ) -> None:
        self._port = port
        self._first = first
        self._clients = clients
        self._asking = asking
        self._line = local()
        self._lock = Lock()
        self._items = self._leaks = self._failures = self._done = 0

    def run(self, progress: Progress | None = None) -> LoadResult:
        """Ask, and look through what is answered."""
        asking = self._asking
        order = Random(0)  # noqa: S311  # no secrets here
        who = [order.randrange(len(self._clients)) for _ in range(asking.requests)]
        with ThreadPoolExecutor(asking.clients) as pool:
            start = perf_counter()
            ask = partial(self._ask, start=start, progress=progress)
            taken = list(pool.map(ask, range(asking.requests), who))
            seconds = perf_counter() - start
        p50, p95, p99 = np.percentile(np.array(taken) * 1000, [50, 95, 99]).tolist()
        return LoadResult(
            asking.requests,
            len(self._clients),
            seconds,
            p50,
            p95,
            p99,
            self._items,
            self._leaks,
            self._failures,
        )

    def _ask(self, number: int, who: int, *, start: float, progress: Progress | None) -> float:
        asking, client = self._asking, self._clients[who]
        due = perf_counter()
        if asking.rate:
            due = start + number / asking.rate
            sleep(max(0.0, due - perf_counter()))
        said = client.said[number % len(client.said)]
        text = f"{said['text']} {self._first + number}" if asking.fresh else said["text"]
        status, answer = self._post(client, json.dumps({**said, "text": text}))
        taken = perf_counter() - due
        found: list[Any] = json.loads(answer)["context"] if status == 200 else []
        foreign = sum(hit["item"]["fields"].get(_OWNER) != client.user for hit in found)
        with self._lock:
            self._items += len(found)
            self._leaks += foreign
            self._failures += status != 200
            self._done += 1
            if progress and self._done % 50 == 0:
                progress(self._done, asking.requests)
        return taken

    def _post(self, client: LoadClient, body: str) -> tuple[int, bytes]:
        line: HTTPConnection | None = getattr(self._line, "open", None)
        if line is None:
            line = self._line.open = HTTPConnection("127.0.0.1", self._port, timeout=120)
        headers = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
        try:
            line.request("POST", "/v1/context", body.encode(), headers)
            answer = line.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException):
            line.close()
            return 0, b""


@contextmanager
def served(settings: ServiceSettings, workers: int, log: Path) -> Generator[int]:
    """The service in processes of its own; the port it listens at."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    command = [sys.executable, "-c", _SERVE, settings.to_json(), str(port), str(workers)]
    # the lines of requests are written, as they would be, but not shown
    with log.open("ab") as target:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=target, stderr=target)  # noqa: S603
    try:
        end = monotonic() + _STARTING
        while not all(_answers(port) for _ in range(2 * workers)):
            if process.poll() is not None or monotonic() > end:
                raise StoreError(f"the service did not start: {log.read_text(encoding='utf-8')[-500:]}")
            sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    line = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        line.request("GET", "/health")
        return line.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        line.close()
