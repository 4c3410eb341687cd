"""Goodput and memory under overload, and whether a user is answered beside one that floods the service.

First the clients ask as fast as they are answered, which gives the maximum. Then requests arrive at
multiples of it, and a client that is not answered in time disconnects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event, Thread

from contextune.datasets import Persona
from contextune.serve.http.settings import ServiceLimits
from contextune.types import Progress
from contextune_lab.bench.speed.http_load import UNLIMITED, LoadedService, loaded_service
from contextune_lab.bench.speed.load_client import LoadClient, LoadProfile, LoadResult, LoadRun
from contextune_lab.bench.speed.soak import ResourceSampler, check_proc

_DEFAULT = ServiceLimits()
OVERLOAD_LIMITS = replace(
    UNLIMITED, waiting=_DEFAULT.waiting, max_wait=_DEFAULT.max_wait, timeout=_DEFAULT.timeout
)
"""The default limits on waiting, without those per token."""
_SHARE = 0.2
"""Of what the service can answer to one user, the requests of the user beside a flood."""
_FLOOD_LENGTH = 2000
"""Characters of the requests of a user that floods the service."""


@dataclass(frozen=True, slots=True)
class Overload:
    """Requests at a multiple of the maximum rate, and the most memory of the service meanwhile."""

    load: LoadResult
    megabytes: float


@dataclass(frozen=True, slots=True)
class Goodput:
    """The maximum, and the overloads by how many times the maximum was sent."""

    maximum: Overload
    overloads: Mapping[float, Overload]

    def share(self, factor: float) -> float:
        """Answers per second under an overload, as a share of the maximum."""
        return self.overloads[factor].load.rate / self.maximum.load.rate


def measure(
    personas: Sequence[Persona],
    profile: LoadProfile,
    *,
    factors: Sequence[float] = (1.0, 2.0, 3.0),
    patience: float = 2.0,
    users: int = 60,
    workers: int = 1,
    threads: int | None = None,
    limits: ServiceLimits = OVERLOAD_LIMITS,
    progress: Progress | None = None,
) -> Goodput:
    """Send multiples of what the service can answer; clients wait `patience` seconds."""
    check_proc()
    with loaded_service(personas, users, workers, threads, limits) as service:
        service.warm_up(replace(profile, requests=2 * profile.requests))
        maximum = _run(service, replace(profile, rate=None), 0, progress)
        overloads: dict[float, Overload] = {}
        for number, factor in enumerate(factors, 1):
            overload = replace(profile, rate=factor * maximum.load.rate, patience=patience)
            overloads[factor] = _run(service, overload, number * profile.requests, progress)
        return Goodput(maximum, overloads)


def _run(service: LoadedService, profile: LoadProfile, first: int, progress: Progress | None) -> Overload:
    with ResourceSampler(service.pid) as sampler:
        load = LoadRun(service.port, service.clients, profile, first=first).run(progress)
    return Overload(load, max(sample.megabytes for sample in sampler.samples))


@dataclass(frozen=True, slots=True)
class Fairness:
    """The answers to one user alone and beside another who floods, and those to the other."""

    alone: LoadResult
    beside: LoadResult
    flood: LoadResult


def measure_fairness(
    personas: Sequence[Persona],
    profile: LoadProfile,
    *,
    rate: float | None = None,
    workers: int = 1,
    threads: int | None = None,
    limits: ServiceLimits = _DEFAULT,
    progress: Progress | None = None,
) -> Fairness:
    """One user asks `rate` times a second, alone and while `profile.clients` clients of another flood.

    By default that takes a fifth of the service, so that a fair half is more than enough. The other's
    requests are of the longest texts, each sent as soon as the one before has its reply.
    """
    with loaded_service(personas, 2, workers, threads, limits) as service:
        victim, other = service.clients
        few = replace(profile, requests=10, clients=1, rate=None)
        LoadRun(service.port, [victim], few, first=9 * profile.requests).run()  # loads the user
        quick = LoadRun(service.port, [victim], few, first=8 * profile.requests).run()
        victims = replace(profile, rate=rate or _SHARE * quick.rate)
        alone = LoadRun(service.port, [victim], victims).run(progress)
        done, floods = Event(), list[LoadResult]()

        def flood() -> None:
            while not done.is_set():
                first = (10 + len(floods)) * profile.requests
                long = replace(profile, rate=None)
                floods.append(LoadRun(service.port, [_with_long_texts(other)], long, first=first).run())

        thread = Thread(target=flood)
        thread.start()
        try:
            beside = LoadRun(service.port, [victim], victims, first=2 * profile.requests).run(progress)
        finally:
            done.set()
            thread.join()
        return Fairness(alone, beside, floods[0])


def _with_long_texts(client: LoadClient) -> LoadClient:
    bodies = tuple(
        {**body, "text": (f"{body['text']} " * _FLOOD_LENGTH)[: _FLOOD_LENGTH - 20]} for body in client.bodies
    )
    return replace(client, bodies=bodies)
