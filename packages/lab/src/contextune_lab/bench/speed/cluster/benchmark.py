"""Several processes of the service over one PostgreSQL: load, overload, costs, and how fast they agree."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from statistics import median

from contextune.datasets import Persona
from contextune.types import Progress
from contextune_lab.bench.speed.cluster.costs import ClusterCosts
from contextune_lab.bench.speed.cluster.invalidation import seconds_to_forget, seconds_to_revoke
from contextune_lab.bench.speed.cluster.processes import (
    PATIENCE,
    Cluster,
    ShowProgress,
    database,
    running_cluster,
)
from contextune_lab.bench.speed.cluster.store_comparison import load_figures, request_figures
from contextune_lab.bench.speed.load_client import LoadProfile, LoadResult, LoadRun
from contextune_lab.bench.speed.soak import ResourceSampler, SoakResult, read_sample

_SHARE = 0.6
_OVERLOAD = 3.0
_FIXED_SECONDS, _SECONDS_PER_USER, _SECONDS_PER_REQUEST = 80.0, 0.06, 0.025
"""To estimate how long a run takes."""
Record = Callable[[Mapping[str, float]], None]
"""Keeps the figures of a part."""


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
        with show("One warm request") as update:
            record(request_figures(personas[0], stores[0], update))
        running = running_cluster(personas, stores, users=users, processes=processes, show=show)
        cluster = stack.enter_context(running)
        record({"store per user, KB": cluster.store_bytes / 1000})
        with show("Loading items") as update:
            record(load_figures(stores[0], update))
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
            profile, rate=_OVERLOAD * maximum, patience=PATIENCE, requests=int(_OVERLOAD * requests)
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
        "memory of a process before any user, MB": costs.process_bytes / 1e6,
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
