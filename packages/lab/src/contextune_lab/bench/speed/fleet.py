"""Embedding the items of many users: workers on Ray against one process."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time, time
from typing import Any, NamedTuple

from contextune.datasets import Persona
from contextune.embed import OnnxEmbedder
from contextune.errors import ContextuneError
from contextune.fleet import Checkpoint, Execute, Handler, Part, PartResult, Work, run_locally, run_parts
from contextune.fleet.embed import EmbedUsers, user_parts
from contextune.fleet.opening import WorkerSettings
from contextune.fleet.parts import run_part
from contextune.fleet.ray_cluster import ray_cluster
from contextune.store import SQLiteStore
from contextune.store.copy_store import digest_user
from contextune.types import Item, Progress
from contextune_lab.bench.speed.soak import cpu_seconds


@dataclass(frozen=True, slots=True)
class FleetSpeed:
    """Texts embedded per second by each way, while all its workers work; each process has one thread.

    Starting Ray, starting workers and loading models are not part of it: they are measured apart.
    """

    items: int
    texts: int
    """Texts of items and of habits."""
    one_process: float
    plain_processes: float
    """By as many processes as there are workers, without Ray: what the machine can give."""
    workers: float
    """By workers on Ray."""
    starting: float
    """Seconds to start Ray on this machine."""
    workers_starting: float
    """Seconds until the last worker on Ray has loaded the model and begins."""
    other_cpu: float
    """Cores that Ray uses beside the workers, while they work: its driver, scheduler and object store."""
    cpu_ms: tuple[float, float, float]
    """Processor time of a text in milliseconds: in one process, in several, and by workers on Ray."""
    identical: bool
    """Whether the stores are the same afterwards."""

    @property
    def speedup(self) -> float:
        """Workers on Ray against one process."""
        return self.workers / self.one_process

    @property
    def possible_speedup(self) -> float:
        """Processes without Ray against one process."""
        return self.plain_processes / self.one_process


class PartTime(NamedTuple):
    """Which process worked on a part, and when."""

    process: int
    start: float
    end: float
    cpu: float
    """Seconds of processor time."""
    texts: int


@dataclass(frozen=True)
class _TimedWork:
    """Other work that returns when each part was worked on, by the clock of the machine."""

    work: Work

    def open(self) -> Handler:
        handler = self.work.open()

        def handle(payload: Any) -> bytes:
            start, cpu = time(), process_time()
            texts = json.loads(handler(payload))["texts"]
            return json.dumps(PartTime(os.getpid(), start, time(), process_time() - cpu, texts)).encode()

        return handle


def measure(
    personas: Sequence[Persona], *, items: int = 6000, workers: int = 2, progress: Progress | None = None
) -> FleetSpeed:
    """Embed copies of the personas' items into one store per way, and compare the stores."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.db" for name in ("one", "plain", "ray")]
        count = max(_write_users(path, personas, items) for path in paths)
        bar = _Bar(progress, len(paths))
        one = _run(paths[0], run_locally, bar)
        plain = _run(paths[1], partial(_run_plainly, workers), bar)
        start = perf_counter()
        with ray_cluster(None, workers) as execute:
            starting, begun = perf_counter() - start, time()
            cpu = _CpuMeter()
            ray = _run(paths[2], execute, bar, cpu.update)
        window = shared_window(ray)
        workers_cpu = sum(part.cpu for part in window) / _seconds(window)
        identical = _digests(paths[0]) == _digests(paths[1]) == _digests(paths[2])
    return FleetSpeed(
        count,
        sum(part.texts for part in one),
        texts_per_second(one),
        texts_per_second(plain),
        texts_per_second(ray),
        starting,
        window[0].start - begun,
        max(0.0, cpu.cores(window[0].start) - workers_cpu),
        (_cpu_ms(one), _cpu_ms(plain), _cpu_ms(ray)),
        identical,
    )


def shared_window(times: Sequence[PartTime]) -> list[PartTime]:
    """The parts that were begun when every process had begun its first one, in order."""
    first: dict[int, float] = {}
    for part in times:
        first[part.process] = min(part.start, first.get(part.process, part.start))
    begin = max(first.values())
    return sorted((part for part in times if part.start >= begin), key=lambda part: part.start)


def _seconds(window: Sequence[PartTime]) -> float:
    return max(part.end for part in window) - window[0].start


def texts_per_second(times: Sequence[PartTime]) -> float:
    """Texts per second from when all processes work until the last one has ended."""
    window = shared_window(times)
    return sum(part.texts for part in window) / _seconds(window)


def _cpu_ms(times: Sequence[PartTime]) -> float:
    return 1000 * sum(part.cpu for part in times) / max(1, sum(part.texts for part in times))


class _CpuMeter:
    """Processor time of this process and of all that it has started, over time."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, float]] = []
        self.update()

    def update(self) -> None:
        """Take a sample; without /proc there are none."""
        with suppress(OSError):  # a process has ended meanwhile, or this is not Linux
            self._samples.append((time(), cpu_seconds(os.getpid())))

    def cores(self, begin: float) -> float:
        """Mean number of cores used since then."""
        samples = [sample for sample in self._samples if sample[0] >= begin]
        if len(samples) < 2:
            return 0.0
        (start, before), (end, after) = samples[0], samples[-1]
        return (after - before) / (end - start)


class _Bar:
    """One progress bar for all ways."""

    def __init__(self, progress: Progress | None, ways: int) -> None:
        self._progress, self._ways, self._done = progress, ways, 0

    def update(self, done: int, total: int) -> None:
        """Report parts of the current way."""
        if self._progress:
            self._progress(self._done + done, self._ways * total)
        if done == total:
            self._done += total


def _run_plainly(workers: int, work: Work, parts: Sequence[Part]) -> Iterator[PartResult]:
    """Work on the parts in so many processes, without Ray."""
    context = get_context("spawn")
    with context.Pool(workers, _open_work, (work,)) as pool:
        yield from pool.imap_unordered(_work_on, parts)


_handler: Handler | None = None


def _open_work(work: Work) -> None:
    global _handler  # of a worker process
    _handler = work.open()


def _work_on(part: Part) -> PartResult:
    if _handler is None:
        raise RuntimeError("the worker was not opened")
    return run_part(_handler, part)


def _write_users(path: Path, personas: Sequence[Persona], items: int) -> int:
    """Users with the items of the personas, each with texts of its own, until there are enough."""
    written = number = 0
    with SQLiteStore(path) as store:
        while written < items:
            persona = personas[number % len(personas)]
            user = replace(persona.user, id=f"{persona.id} {number}")
            store.put_user(user)
            copies = [_copy(item, number) for item in persona.items]
            written += store.put_items(user.id, copies)
            number += 1
    return written


def _copy(item: Item, number: int) -> Item:
    """The item with a number in its title, so that its text occurs once."""
    fields = dict(item.fields)
    title = next((name for name in ("title", "subject", "name") if name in fields), None)
    if title:
        fields[title] = f"{fields[title]} {number}"
    return replace(item, fields=fields)


def _run(
    path: Path, execute: Execute, bar: _Bar, after_part: Callable[[], None] = lambda: None
) -> list[PartTime]:
    """Embed all items of a store; returns who worked on each part, and when."""
    with SQLiteStore(path) as store:
        parts = list(user_parts(store))
    settings = WorkerSettings(str(path), partial(OnnxEmbedder, threads=1))

    def progress(done: int, total: int) -> None:
        after_part()
        bar.update(done, total)

    with Checkpoint() as checkpoint:
        work = _TimedWork(EmbedUsers(settings))
        report = run_parts(work, parts, checkpoint, execute=execute, progress=progress)
        if not report.complete:
            raise ContextuneError(f"{report.errors.total():,} parts failed; run it again")
        contents = checkpoint.contents(part.key for part in parts)
        return [PartTime(*json.loads(content)) for content in contents]


def _digests(path: Path) -> list[object]:
    with SQLiteStore(path) as store:
        return [digest_user(store, user) for user in store.users()]
