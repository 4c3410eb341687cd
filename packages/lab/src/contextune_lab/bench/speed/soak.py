"""Soak test: growth of memory and file descriptors while the service answers for minutes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import numpy as np

from contextune.datasets import Persona
from contextune.errors import InvalidRequestError
from contextune.types import Progress
from contextune_lab.bench.speed.http_load import loaded_service
from contextune_lab.bench.speed.load_client import LoadProfile, LoadResult, LoadRun

_PROC = Path("/proc")
_PAUSE = 1.0
"""Seconds between samples."""
_SETTLING = 0.2
"""Share of the time at the start that does not count as growth: caches fill."""


@dataclass(frozen=True, slots=True)
class ResourceSample:
    """Memory and descriptors of all processes of the service."""

    seconds: float
    megabytes: float
    descriptors: int


@dataclass(frozen=True, slots=True)
class SoakResult:
    """Answers and resources over the whole time."""

    load: LoadResult
    rate: float
    """Requests per second that were sent."""
    samples: Sequence[ResourceSample]

    @property
    def first(self) -> ResourceSample:
        """The state once caches have filled."""
        return self.samples[int(_SETTLING * len(self.samples))]

    @property
    def last(self) -> ResourceSample:
        """The state at the end."""
        return self.samples[-1]

    @property
    def megabytes_per_hour(self) -> float:
        """Slope of the memory over time, from a straight line through the samples."""
        samples = self.samples[int(_SETTLING * len(self.samples)) :]
        if len(samples) < 2:
            return 0.0
        times, sizes = [sample.seconds for sample in samples], [sample.megabytes for sample in samples]
        return float(np.polyfit(times, sizes, 1)[0]) * 3600


def measure(
    personas: Sequence[Persona],
    profile: LoadProfile,
    *,
    seconds: float,
    share: float = 0.6,
    users: int = 60,
    workers: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SoakResult:
    """Find the maximum rate with `profile`, then send that share of it for so many seconds."""
    check_proc()
    with loaded_service(personas, users, workers, threads) as service:
        service.warm_up(profile)
        rate = share * LoadRun(service.port, service.clients, replace(profile, rate=None)).run().rate
        steady = replace(profile, rate=rate, requests=max(1, int(rate * seconds)))
        with ResourceSampler(service.pid) as sampler:
            run = LoadRun(service.port, service.clients, steady, first=9 * profile.requests)
            load = run.run(progress)
        return SoakResult(load, rate, sampler.samples)


def check_proc() -> None:
    """Raise an error if the memory of processes cannot be read."""
    if not _PROC.is_dir():
        raise InvalidRequestError("the benchmark reads memory from /proc: run it on Linux")


class ResourceSampler:
    """Reads the resources of processes and their descendants once a second."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self._start = monotonic()
        self._ended = Event()
        self._thread = Thread(target=self._run)
        self.samples: list[ResourceSample] = []

    def __enter__(self) -> "ResourceSampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.samples.append(self._sample())

    def _run(self) -> None:
        while not self._ended.wait(_PAUSE):
            self.samples.append(self._sample())

    def _sample(self) -> ResourceSample:
        samples = [read_sample(pid) for pid in self._pids]
        megabytes = sum(sample.megabytes for sample in samples)
        return ResourceSample(
            monotonic() - self._start, megabytes, sum(sample.descriptors for sample in samples)
        )


def read_sample(pid: int, seconds: float = 0.0) -> ResourceSample:
    """Memory and descriptors of a process and its descendants now."""
    megabytes, descriptors = 0.0, 0
    for process in _descendants(pid):
        pages = int((_PROC / str(process) / "statm").read_text().split()[1])
        megabytes += pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        descriptors += len(list((_PROC / str(process) / "fd").iterdir()))
    return ResourceSample(seconds, megabytes, descriptors)


def _descendants(pid: int) -> list[int]:
    """The process and all that it has started."""
    children = (_PROC / str(pid) / "task" / str(pid) / "children").read_text().split()
    return [pid, *(other for child in children for other in _descendants(int(child)))]


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and its living descendants."""
    ticks = 0
    for process in _descendants(pid):
        # after the name, which may contain anything, user and system time are the fields 12 and 13
        fields = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
