"""Goodput under overload: answers that clients still wait for, as a share of the maximum.

First the clients ask as fast as they are answered, which gives the maximum. Then requests arrive at a
multiple of it, and a client that is not answered in time disconnects.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from contextune.datasets import Persona
from contextune.serve.http.settings import ServiceLimits
from contextune.types import Progress
from contextune_lab.bench.speed.http_load import UNLIMITED, loaded_service
from contextune_lab.bench.speed.load_client import LoadProfile, LoadResult, LoadRun

_DEFAULT = ServiceLimits()
OVERLOAD_LIMITS = replace(
    UNLIMITED, waiting=_DEFAULT.waiting, max_wait=_DEFAULT.max_wait, timeout=_DEFAULT.timeout
)
"""The default limits on waiting, without those per token."""


@dataclass(frozen=True, slots=True)
class Goodput:
    """The maximum and the overload."""

    maximum: LoadResult
    overload: LoadResult

    @property
    def share(self) -> float:
        """Answers per second under overload, as a share of the maximum."""
        return self.overload.rate / self.maximum.rate


def measure(
    personas: Sequence[Persona],
    profile: LoadProfile,
    *,
    factor: float = 3.0,
    patience: float = 2.0,
    users: int = 60,
    workers: int = 1,
    threads: int | None = None,
    limits: ServiceLimits = OVERLOAD_LIMITS,
    progress: Progress | None = None,
) -> Goodput:
    """Send `factor` times as many requests as the service can answer; clients wait `patience` seconds."""
    with loaded_service(personas, users, workers, threads, limits) as service:
        service.warm_up(replace(profile, requests=2 * profile.requests))
        maximum = LoadRun(service.port, service.clients, replace(profile, rate=None)).run(progress)
        overload = replace(profile, rate=factor * maximum.rate, patience=patience)
        run = LoadRun(service.port, service.clients, overload, first=profile.requests)
        return Goodput(maximum, run.run(progress))
