"""How long one request takes, embedding included, over stores of different sizes."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np

from contextune.datasets import Persona, load_persona
from contextune.embed import default_embedder
from contextune.lab.bench.speed.large_users import LargeUsers, requests_of
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Progress, Request

WHOLE = "context, tools and plan"
STAGES = ("context", "tools", "plan")
SIZES = (10_000, 50_000)


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds a request over `items` items."""

    method: str
    """A way to rank context, the whole way of a request, or one of its stages."""
    items: int
    median: float
    p95: float


def measure(
    personas: Sequence[Persona],
    methods: Sequence[str],
    *,
    sizes: Sequence[int] = SIZES,
    requests: int = 100,
    progress: Progress | None = None,
) -> list[Latency]:
    """Each method over the personas as they are, then over users of `sizes` items put together from them.

    And the whole way of a request, with each of its stages: the learned ranking, the tools of the
    toolbox, and the plan.

    Every request is of a text not seen before, so that nothing is remembered.
    """
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "latency.db") as store:
        small = list(islice(((p, q) for p in personas for q in p.queries), requests))
        for persona in {persona.id: persona for persona, _ in small}.values():
            load_persona(store, persona)
        jobs = [(len(small[0][0].items), [persona.request(query) for persona, query in small])]
        crowd, model = LargeUsers.of(personas, default_embedder()), default_embedder().name
        for size in sizes:
            user = crowd.settle(store, size, model)
            jobs.append((size, requests_of(personas, requests, user)))
        results: list[Latency] = []
        for done, (items, wanted) in enumerate(jobs):
            for number, method in enumerate(methods):
                tuner = Tuner(store, method=method)
                taken = _time(tuner, _context(tuner, method), wanted)
                results += _figures(taken, items)
                if progress:
                    progress(done * (len(methods) + 1) + number + 1, len(jobs) * (len(methods) + 1))
            whole = Tuner(store, tools=bundled_toolbox())
            results += _figures(_time(whole, _stages(whole), wanted), items)
            if progress:
                progress((done + 1) * (len(methods) + 1), len(jobs) * (len(methods) + 1))
        return results


Timed = Callable[[Request], Mapping[str, float]]
"""Does what is timed, and says how many seconds each part of it took."""


def _context(tuner: Tuner, method: str) -> Timed:
    def timed(request: Request) -> Mapping[str, float]:
        start = perf_counter()
        tuner.context(request)
        return {method: perf_counter() - start}

    return timed


def _stages(tuner: Tuner) -> Timed:
    def timed(request: Request) -> Mapping[str, float]:
        start = perf_counter()
        answer = tuner.answer(request)
        whole = perf_counter() - start
        return {WHOLE: whole, **{stage: answer.seconds[stage] for stage in STAGES}}

    return timed


def _time(tuner: Tuner, do: Timed, requests: Sequence[Request]) -> list[Mapping[str, float]]:
    for user in {request.user for request in requests}:
        tuner.prepare(user)
    do(Request("warm up", user=requests[0].user, time=requests[0].time))
    return [do(request) for request in requests]


def _figures(taken: Sequence[Mapping[str, float]], items: int) -> list[Latency]:
    found: list[Latency] = []
    for name in taken[0]:
        each = [1000 * one[name] for one in taken]
        found.append(Latency(name, items, float(np.median(each)), float(np.percentile(each, 95))))
    return found
