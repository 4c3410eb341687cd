"""HTTP load test: throughput and latency of the service, and a check for leaks between users.

The service runs in its own processes over a store of many users. Clients send requests over HTTP as random
users.
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from itertools import cycle, islice
from pathlib import Path
from time import monotonic, sleep

from contextune.datasets import Persona, load_persona
from contextune.embed import default_embedder
from contextune.errors import StoreError
from contextune.fleet.embed import embed_habits
from contextune.serve.http.settings import ServiceLimits, ServiceSettings
from contextune.serve.http.tokens import TokenFile, TokenTable
from contextune.store import ServiceStore, SQLiteStore
from contextune.store.protocol import Vector
from contextune.tuner import Tuner
from contextune.types import Item, Progress, UsageEvent
from contextune_lab.bench.speed.load_client import OWNER_FIELD, LoadClient, LoadProfile, LoadResult, LoadRun

_SERVE = """
import sys
from contextune.serve.http.run import ListenOptions, run
from contextune.serve.http.settings import ServiceSettings
options = ListenOptions(port=int(sys.argv[1]), workers=int(sys.argv[2]))
run(ServiceSettings.from_json(sys.stdin.read()), options)
"""
_START_TIMEOUT = 240.0
"""Seconds until the service must be up."""
UNLIMITED = ServiceLimits(
    rate=1e6,
    burst=1_000_000,
    cpu=1e6,
    cpu_burst=1e9,
    waiting=10_000,
    max_wait=120,
    timeout=120,
    connections=10_000,
    connections_per_address=10_000,
)
"""Limits that refuse no request, to measure how many are answered."""


@dataclass(frozen=True, slots=True)
class _PreparedPersona:
    """What copies of a persona need besides its items."""

    uses: Sequence[UsageEvent]
    texts: Mapping[bytes, Vector]
    """Vectors by digest, such as those of phrases on habits."""
    enriched: Mapping[str, tuple[bytes, Vector]]


@dataclass(frozen=True, slots=True)
class LoadedService:
    """A running service with users."""

    port: int
    pid: int
    clients: Sequence[LoadClient]

    def warm_up(self, profile: LoadProfile) -> None:
        """Make every process load every user, with texts other than those of the profile."""
        requests = replace(profile, requests=8 * len(self.clients), rate=None)
        LoadRun(self.port, self.clients, requests, first=profile.requests).run()


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
    with loaded_service(personas, users, workers, threads) as service:
        service.warm_up(profile)
        return LoadRun(service.port, service.clients, profile).run(progress)


@contextmanager
def loaded_service(
    personas: Sequence[Persona],
    users: int,
    workers: int = 1,
    threads: int | None = None,
    limits: ServiceLimits = UNLIMITED,
) -> Generator[LoadedService]:
    """Run the service over `users` copies of the personas."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        threads = threads or max(1, (os.cpu_count() or 1) // workers)
        tokens = folder / "tokens.json"
        settings = ServiceSettings(folder / "store.db", tokens, threads=threads, limits=limits)
        with SQLiteStore(settings.store) as store:
            clients = create_users(store, personas, users, TokenFile(tokens))
        with running_service(settings, workers, folder / "log") as (port, pid):
            yield LoadedService(port, pid, clients)


def create_users(
    store: ServiceStore,
    personas: Sequence[Persona],
    users: int,
    tokens: TokenFile | TokenTable,
    progress: Progress | None = None,
    *,
    threads: int = 1,
) -> list[LoadClient]:
    """Store copies of the personas with marked items; embeddings are computed once per persona.

    Copies are prepared like the first: no request embeds anything but its own text.
    """
    embedder = default_embedder()
    tuner = Tuner(store, embedder=embedder)
    names = [f"{persona.id}-{number}" for number, persona in enumerate(islice(cycle(personas), users))]
    first = dict(zip((persona.id for persona in personas), names, strict=False))
    prepared: dict[str, _PreparedPersona] = {}
    for persona, user in zip(personas, names, strict=False):
        load_persona(store, _marked(persona, user))
        tuner.prepare(user)
        embed_habits(store, embedder, user)  # also of the past, in which the requests are made
        digests = store.vector_digests(user).get(embedder.name, [])
        texts = store.vectors(user, embedder.name, digests)
        prepared[persona.id] = _PreparedPersona(
            store.uses(user), texts, store.enriched_vectors(user, embedder.name)
        )

    def create(number: int) -> LoadClient:
        persona, user = personas[number % len(personas)], names[number]
        marked = _marked(persona, user)
        if first[persona.id] != user:
            original = prepared[persona.id]
            store.put_user(marked.user)
            store.put_items(user, marked.items)
            store.put_uses(user, original.uses)
            store.put_vectors(user, embedder.name, original.texts)
            store.put_enriched_vectors(user, embedder.name, original.enriched)
        bodies = tuple(
            {"text": query.text, "time": query.time.isoformat(), "place": query.place}
            for query in persona.queries
        )
        return LoadClient(user, tokens.add(user), bodies, marked.items[0].id)

    clients: list[LoadClient] = []
    with ThreadPoolExecutor(threads) as pool:
        for client in pool.map(create, range(users)):
            clients.append(client)
            if progress:
                progress(len(clients), users)
    return clients


def _marked(persona: Persona, user: str) -> Persona:
    """The persona as another user, whose items name their owner."""
    items = tuple(Item(item.id, item.app, {**item.fields, OWNER_FIELD: user}) for item in persona.items)
    return replace(persona, user=replace(persona.user, id=user), items=items)


@contextmanager
def running_service(settings: ServiceSettings, workers: int, log: Path) -> Generator[tuple[int, int]]:
    """Run the service in its own processes; yields its port and the id of the first process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    command = [sys.executable, "-c", _SERVE, str(port), str(workers)]
    # keep the request log, as in production, but do not show it
    with log.open("ab") as target:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=target, stderr=target)  # noqa: S603
    try:
        if process.stdin:  # not as an argument: the URL of a store may have a password
            process.stdin.write(settings.to_json().encode())
            process.stdin.close()
        end = monotonic() + _START_TIMEOUT
        while not all(_is_healthy(port) for _ in range(2 * workers)):
            if process.poll() is not None or monotonic() > end:
                raise StoreError(
                    f"the service did not start, its log ends with: {log.read_text(encoding='utf-8')[-500:]}"
                )
            sleep(0.1)
        yield port, process.pid
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
