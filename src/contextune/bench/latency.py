"""How long one request takes, embedding included, over stores of different sizes."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter

import numpy as np

from contextune.context.portrait import portrait
from contextune.embed import default_embedder
from contextune.pipeline import Tuner
from contextune.sources import Persona, load_persona
from contextune.store import SQLiteStore, Store, text_digest
from contextune.tools import bundled_toolbox
from contextune.types import Item, Progress, Request, User

WHOLE = "context, tools and plan"
_EMBEDDED = 1000
"""How many of the items of a large store are embedded; the rest are their copies."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds a request over `items` items."""

    method: str
    items: int
    median: float
    p95: float


def measure(
    personas: Sequence[Persona],
    methods: Sequence[str],
    *,
    sizes: Sequence[int] = (10_000,),
    requests: int = 100,
    progress: Progress | None = None,
) -> list[Latency]:
    """Each method over the personas as they are, then over users of `sizes` items put together from them.

    And the whole way of a request: the learned ranking, the tools of the toolbox, and the plan.

    Every request is of a text not seen before, so that nothing is remembered.
    """
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "latency.db") as store:
        small = list(islice(((p, q) for p in personas for q in p.queries), requests))
        for persona in {persona.id: persona for persona, _ in small}.values():
            load_persona(store, persona)
        asked = [persona.request(query) for persona, query in small]
        jobs = [(len(small[0][0].items), asked)]
        for size in sizes:
            user = _crowd(store, personas, size)
            jobs.append((size, [Request(r.text, user=user, time=r.time) for r in asked]))
        results: list[Latency] = []
        for items, wanted in jobs:
            for method in methods:
                tuner = Tuner(store, method=method)
                results.append(_time(tuner, tuner.context, method, items, wanted))
                if progress:
                    progress(len(results), len(jobs) * (len(methods) + 1))
            whole = Tuner(store, tools=bundled_toolbox())
            results.append(_time(whole, whole.answer, WHOLE, items, wanted))
        return results


def _time(
    tuner: Tuner, do: Callable[[Request], object], method: str, items: int, requests: Sequence[Request]
) -> Latency:
    for user in {request.user for request in requests}:
        tuner.prepare(user)
    do(Request("warm up", user=requests[0].user, time=requests[0].time))
    taken: list[float] = []
    for request in requests:
        start = perf_counter()
        do(request)
        taken.append((perf_counter() - start) * 1000)
    return Latency(method, items, float(np.median(taken)), float(np.percentile(taken, 95)))


def _crowd(store: Store, personas: Sequence[Persona], size: int) -> str:
    """A user of `size` items: the personas' own, over and over, under new ids.

    A copy's text differs from the original's in a number, and takes over its vector
    turned a little, so that the benchmark does not wait for thousands of embeddings.
    """
    user = f"crowd-{size}"
    crowd = User(user)
    store.put_user(crowd)
    embedder, noise = default_embedder(), np.random.default_rng(0)
    originals = [item for persona in personas for item in persona.items][:_EMBEDDED]
    vectors = embedder.embed([item.text for item in originals])
    items = list(_copies(originals, size))
    store.put_items(user, items)
    rows = vectors[np.arange(size) % len(originals)]
    rows = rows + noise.normal(0, 0.01, rows.shape).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    digests = [text_digest(item.text) for item in items]
    store.put_vectors(user, embedder.name, dict(zip(digests, rows, strict=True)))
    portraits = {
        item.id: (text_digest(portrait(item, crowd, [])), row) for item, row in zip(items, rows, strict=True)
    }
    store.put_portraits(user, embedder.name, portraits)
    return user


def _copies(items: Sequence[Item], size: int) -> Iterator[Item]:
    for number, item in enumerate(islice(cycle(items), size)):
        title = item.schema.title
        yield Item(f"i{number:06}", item.app, {**item.fields, title: f"{item.title} {number}"})
