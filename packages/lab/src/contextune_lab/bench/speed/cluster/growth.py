"""Growth on paper: what N users need, by a simulation of one replica that is driven by measured costs.

`bench cluster` measures the costs of a user and a request. The simulation gives what cannot be measured on
one machine: how often a user's data are in memory, and how long requests wait. All else is proportional.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from math import ceil
from random import Random
from statistics import quantiles

from contextune.context.index_cache import MAX_ITEMS, MIN_USERS
from contextune_lab.bench.speed.cluster.costs import ClusterCosts

_REQUESTS = 20_000
_SETTLING = 0.2
"""Share of the simulated requests that only fill the memory."""
_DAY = 86_400
_CONNECTIONS = 5
"""Connections of a process to the database, besides one for each thread."""
_NOTIFYING = 0.25
"""Share of the writes that change items, and so notify all processes, as in the load of `bench cluster`."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is not measured: how users behave, and what machines hold."""

    requests_per_day: float = 20.0
    """Of each user."""
    peak: float = 3.0
    """Rate of the busiest hour, compared with the mean of the day."""
    session: int = 5
    """Requests that a user makes in a row, a minute apart."""
    cores: int = 2
    """Of each replica."""
    load: float = 0.6
    """Share of the processor time that is used at the peak."""
    database_cores: int = 32
    database_connections: int = 1000
    database_terabytes: float = 4.0
    notifications: float = 1000.0
    """Commits per second that notify; they wait for each other."""


@dataclass(frozen=True, slots=True)
class ReplicaLoad:
    """The simulated load of one replica."""

    misses: float
    """Share of the requests whose user's data were not in memory."""
    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Need:
    """What so many users need at the peak."""

    users: int
    rate: float
    replicas: int
    load: ReplicaLoad
    database_cores: float
    connections: int
    terabytes: float
    memory_gigabytes: float
    """Of one replica."""
    network_megabytes: float
    """Per second, between clients and service."""
    notifications: float
    limits: tuple[str, ...]
    """What one database no longer holds."""


def simulate(
    rate: float,
    users: int,
    *,
    warm_ms: float,
    cold_ms: float,
    servers: int = 2,
    cached: int = 64,
    session: int = 5,
    seed: int = 0,
) -> ReplicaLoad:
    """Requests of random users at a rate per second, to so many servers with one queue and a cache of users.

    Service times are exponential: requests differ, and the mean is what is measured.
    """
    random = Random(seed)  # noqa: S311  # no secrets here
    arrivals: list[tuple[float, int]] = []
    time = 0.0
    while len(arrivals) < _REQUESTS:
        time += random.expovariate(rate / session)
        user, moment = random.randrange(users), time
        for _ in range(session):
            heappush(arrivals, (moment, user))
            moment += random.expovariate(1 / 60)
    free = [0.0] * servers
    memory: OrderedDict[int, None] = OrderedDict()
    waits: list[float] = []
    misses = 0
    for number in range(_REQUESTS):
        moment, user = heappop(arrivals)
        missing = user not in memory
        memory[user] = None
        memory.move_to_end(user)
        if len(memory) > cached:
            memory.popitem(last=False)
        mean = warm_ms + (cold_ms if missing else 0.0)
        end = max(moment, free[0]) + random.expovariate(1000 / mean)
        heapreplace(free, end)
        if number >= _SETTLING * _REQUESTS:
            misses += missing
            waits.append(1000 * (end - moment))
    cuts = quantiles(waits, n=100)
    return ReplicaLoad(misses / len(waits), cuts[49], cuts[98])


def cached_users(costs: ClusterCosts) -> int:
    """Users whose data a process keeps in memory."""
    return max(MIN_USERS, int(MAX_ITEMS / costs.items_per_user))


def warm_cost(costs: ClusterCosts) -> float:
    """Milliseconds of a request whose user is in memory: the measured mean without reading of users."""
    share = max(1, costs.users // costs.processes)
    misses = simulate(
        costs.rate / costs.processes,
        share,
        warm_ms=costs.cpu_ms,
        cold_ms=0.0,
        cached=cached_users(costs),
        session=1,
    ).misses
    return max(0.2 * costs.cpu_ms, costs.cpu_ms - misses * costs.cold_ms)


def repeat_run(costs: ClusterCosts, cores: float) -> ReplicaLoad:
    """Simulate the steady load that was measured, to compare; `cores` is what each process had.

    The processes have one queue: a request goes to one that has few.
    """
    warm = warm_cost(costs)
    busy = costs.cpu_ms + costs.database_cpu_ms
    return simulate(
        costs.rate,
        costs.users,
        warm_ms=warm * busy / costs.cpu_ms / cores,
        cold_ms=costs.cold_ms / cores,
        servers=costs.processes,
        cached=costs.processes * cached_users(costs),
        session=1,
    )


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a run on the machine of the measurements should give."""

    maximum: float
    """Requests per second of all processes together."""
    p50: float
    """Median latency in milliseconds, at `Assumptions.load` of the maximum."""


def predict_run(costs: ClusterCosts, assumptions: Assumptions, *, users: int, processes: int) -> Prediction:
    """Predict a run of another size on the same machine: its maximum, and the median at a share of that.

    The maximum changes with the processor time of a request, which depends on how many users are in memory.
    The load generator has a part in the measured maximum, and keeps it; requests do not wait for it.
    """
    warm = warm_cost(costs)
    share = max(1, users // processes)
    cached = cached_users(costs)
    misses = simulate(1.0, share, warm_ms=warm, cold_ms=0.0, cached=cached, session=1).misses
    measured = costs.cpu_ms + costs.database_cpu_ms
    other = 1000 * costs.processes / costs.maximum - measured  # what a request takes beside them
    mean = warm + misses * costs.cold_ms + costs.database_cpu_ms + max(0.0, other)
    maximum = 1000 * costs.processes / mean
    load = simulate(
        assumptions.load * maximum,
        users,
        warm_ms=warm + costs.database_cpu_ms,
        cold_ms=costs.cold_ms,
        servers=processes,
        cached=processes * cached,
        session=1,
    )
    return Prediction(maximum, load.p50)


def needs(costs: ClusterCosts, users: Sequence[int], assumptions: Assumptions) -> list[Need]:
    """What so many users need at the peak; the same costs give the same numbers."""
    return [_need(costs, number, assumptions) for number in users]


def _need(costs: ClusterCosts, users: int, assumptions: Assumptions) -> Need:
    rate = users * assumptions.requests_per_day * assumptions.peak / _DAY
    warm = warm_cost(costs)
    misses, replicas = 1.0, 2
    load = ReplicaLoad(1.0, 0.0, 0.0)
    for _ in range(3):  # fewer misses need fewer replicas, which have more users each
        mean = warm + misses * costs.cold_ms
        replicas = max(2, ceil(rate * mean / 1000 / (assumptions.cores * assumptions.load)))
        load = simulate(
            rate / replicas,
            max(1, users // replicas),
            warm_ms=warm,
            cold_ms=costs.cold_ms,
            servers=assumptions.cores,
            cached=cached_users(costs),
            session=assumptions.session,
        )
        misses = load.misses
    database_cores = rate * costs.database_cpu_ms / 1000 / assumptions.load
    connections = replicas * (assumptions.cores + _CONNECTIONS)
    terabytes = users * costs.store_bytes / 1e12
    notifications = rate * costs.writes * _NOTIFYING
    limits = [
        name
        for name, value, limit in (
            ("processors of the database", database_cores, assumptions.database_cores),
            ("connections", connections, assumptions.database_connections),
            ("disk", terabytes, assumptions.database_terabytes),
            ("notifications", notifications, assumptions.notifications),
        )
        if value > limit
    ]
    return Need(
        users=users,
        rate=rate,
        replicas=replicas,
        load=load,
        database_cores=database_cores,
        connections=connections,
        terabytes=terabytes,
        memory_gigabytes=(costs.process_bytes + cached_users(costs) * costs.memory_bytes) / 1e9,
        network_megabytes=rate * (costs.sent_bytes + costs.received_bytes) / 1e6,
        notifications=notifications,
        limits=tuple(limits),
    )


def first_limits(costs: ClusterCosts, assumptions: Assumptions) -> dict[str, float]:
    """The number of users at which one database reaches each limit, if no user is in memory beforehand."""
    rate = assumptions.requests_per_day * assumptions.peak / _DAY  # of one user
    mean = warm_cost(costs) + costs.cold_ms
    replicas = rate * mean / 1000 / (assumptions.cores * assumptions.load)
    per_user = {
        "processors of the database": rate * costs.database_cpu_ms / 1000 / assumptions.load,
        "connections": replicas * (assumptions.cores + _CONNECTIONS),
        "disk": costs.store_bytes / 1e12,
        "notifications": rate * costs.writes * _NOTIFYING,
    }
    limits = {
        "processors of the database": float(assumptions.database_cores),
        "connections": float(assumptions.database_connections),
        "disk": assumptions.database_terabytes,
        "notifications": assumptions.notifications,
    }
    return {name: limits[name] / need if need else float("inf") for name, need in per_user.items()}
