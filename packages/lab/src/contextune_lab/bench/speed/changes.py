"""Latency of the first request after a change of a large store, compared with a warm request."""

import gc
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from contextune.context import ContextRetriever
from contextune.datasets import Persona
from contextune.embed import Matrix
from contextune.store import Store, open_store
from contextune.store.snapshots import snapshots_of
from contextune.types import Item, Progress, Request, UsageEvent, User
from contextune_lab.bench.speed.large_users import LargeUsers, requests_for

_WIDTH = 384
_OPENINGS = 3
WARM, AFTER_USE, AFTER_ITEM, AFTER_OPENING = "warm", "after a use", "after an item", "after opening"


class RandomEmbedder:
    """A random unit vector per text, always the same: the time of an embedding is not measured here."""

    name = "random vectors"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector per text."""
        rows = np.empty((len(texts), _WIDTH), np.float32)
        for row, text in zip(rows, texts, strict=True):
            seed = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
            row[:] = np.random.default_rng(seed).standard_normal(_WIDTH, np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@dataclass(frozen=True, slots=True)
class ChangeLatency:
    """Milliseconds of a request in one situation."""

    situation: str
    median: float
    p95: float
    processor: float
    """Median of the processor time, which other programs on the machine do not change."""


def measure(
    personas: Sequence[Persona],
    *,
    items: int = 50_000,
    changes: int = 20,
    url: str | None = None,
    progress: Progress | None = None,
) -> list[ChangeLatency]:
    """Time the first request after opening the store, warm requests, and requests after a use and an item.

    `url` names a store in PostgreSQL, in which the user of the benchmark is made and forgotten.
    """
    with tempfile.TemporaryDirectory() as folder, open_store(url or Path(folder) / "changes.db") as store:
        embedder = RandomEmbedder()
        user = LargeUsers.from_personas(personas, embedder).store_user(store, items, embedder.name)
        requests = requests_for(personas, changes, user)
        ContextRetriever(store, embedder).rank(requests[0], 5)  # stores the vectors, loads the ranker
        if snapshots := snapshots_of(store):
            snapshots.wait()
        gc.collect()
        times: dict[str, list[tuple[float, float]]] = {}
        for _ in range(_OPENINGS if snapshots else 1):
            retriever = ContextRetriever(store, embedder)
            times.setdefault(AFTER_OPENING, []).append(_milliseconds(retriever, requests[0]))
        retriever = ContextRetriever(store, embedder)
        changed = store.items(user.id)[:: max(1, items // changes)]
        for number, (request, item) in enumerate(zip(requests, changed, strict=False)):
            _milliseconds(retriever, request)
            times.setdefault(WARM, []).append(_milliseconds(retriever, request))
            _use(store, user, request, item)
            times.setdefault(AFTER_USE, []).append(_milliseconds(retriever, request))
            store.put_items(user.id, [Item(f"new {number} {item.id}", item.app, item.fields)])
            times.setdefault(AFTER_ITEM, []).append(_milliseconds(retriever, request))
            if progress:
                progress(number + 1, min(len(requests), len(changed)))
        store.forget(user.id)
    return [
        ChangeLatency(
            situation,
            float(np.median([wall for wall, _ in values])),
            float(np.percentile([wall for wall, _ in values], 95)),
            float(np.median([processor for _, processor in values])),
        )
        for situation, values in times.items()
    ]


def _use(store: Store, user: User, request: Request, item: Item) -> None:
    store.put_uses(user.id, [UsageEvent(item.id, request.time - timedelta(minutes=1), "home")])


def _milliseconds(retriever: ContextRetriever, request: Request) -> tuple[float, float]:
    """Wall time and processor time of a request."""
    start, processor_start = perf_counter(), process_time()
    retriever.rank(request, 5)
    return 1000 * (perf_counter() - start), 1000 * (process_time() - processor_start)
