"""Latency of one request, embedding included, over stores of different sizes."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np

from contextune.datasets import Persona, load_persona
from contextune.embed import default_embedder
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Progress, Request
from contextune_lab.bench.speed.large_users import LargeUsers, requests_for

ALL_STAGES = "context, tools and plan"
STAGES = ("context", "tools", "plan")
SIZES = (10_000, 50_000)


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds per request over `items` items."""

    method: str
    """A context method, all stages together, or one stage."""
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
    """Time each method over the personas, then over synthetic users of `sizes` items.

    Also the complete pipeline (context, tools of the toolbox, plan) and each of its stages. Every text is
    new, so that no cache helps.
    """
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "latency.db") as store:
        persona_queries = list(islice(((p, q) for p in personas for q in p.queries), requests))
        for persona in {persona.id: persona for persona, _ in persona_queries}.values():
            load_persona(store, persona)
        jobs = [
            (len(persona_queries[0][0].items), [persona.request(query) for persona, query in persona_queries])
        ]
        large_users, model = LargeUsers.from_personas(personas, default_embedder()), default_embedder().name
        for size in sizes:
            user = large_users.store_user(store, size, model)
            jobs.append((size, requests_for(personas, requests, user)))
        results: list[Latency] = []
        for done, (items, requests_of_size) in enumerate(jobs):
            for number, method in enumerate(methods):
                tuner = Tuner(store, method=method)
                times_by_request = _time(tuner, _context(tuner, method), requests_of_size)
                results += _figures(times_by_request, items)
                if progress:
                    progress(done * (len(methods) + 1) + number + 1, len(jobs) * (len(methods) + 1))
            tuner = Tuner(store, tools=bundled_toolbox())
            results += _figures(_time(tuner, _stages(tuner), requests_of_size), items)
            if progress:
                progress((done + 1) * (len(methods) + 1), len(jobs) * (len(methods) + 1))
        return results


TimedCall = Callable[[Request], Mapping[str, float]]
"""Runs a request and returns seconds by stage."""


def _context(tuner: Tuner, method: str) -> TimedCall:
    def timed(request: Request) -> Mapping[str, float]:
        start = perf_counter()
        tuner.context(request)
        return {method: perf_counter() - start}

    return timed


def _stages(tuner: Tuner) -> TimedCall:
    def timed(request: Request) -> Mapping[str, float]:
        start = perf_counter()
        answer = tuner.answer(request)
        seconds = perf_counter() - start
        return {ALL_STAGES: seconds, **{stage: answer.seconds[stage] for stage in STAGES}}

    return timed


def _time(tuner: Tuner, timed_call: TimedCall, requests: Sequence[Request]) -> list[Mapping[str, float]]:
    for user in {request.user for request in requests}:
        tuner.prepare(user)
    timed_call(Request("warm up", user=requests[0].user, time=requests[0].time))
    return [timed_call(request) for request in requests]


def _figures(times_by_request: Sequence[Mapping[str, float]], items: int) -> list[Latency]:
    rows: list[Latency] = []
    for name in times_by_request[0]:
        each = [1000 * times[name] for times in times_by_request]
        rows.append(Latency(name, items, float(np.median(each)), float(np.percentile(each, 95))))
    return rows
