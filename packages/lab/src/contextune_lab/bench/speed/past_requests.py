"""Requests as of last month: their latency, and how many texts they embed.

Every item has been used since, so its habits were others then. Vectors of that time are to come without
embedding anything but the request.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from contextune.datasets import Persona
from contextune.embed import Embedder, Matrix, default_embedder
from contextune.store import SQLiteStore, Store
from contextune.tuner import Tuner
from contextune.types import Contact, Item, Progress, UsageEvent, User
from contextune_lab.bench.speed.large_users import requests_for, shifted_items

ITEMS = 1000
_LATER = timedelta(weeks=4)
"""How long after the request every item is used again."""


@dataclass(frozen=True, slots=True)
class PastLatency:
    """Milliseconds of a request, embedding included, and the texts that it embeds."""

    items: int
    median: float
    p95: float
    processor: float
    """Median of the processor time, which other programs on the machine do not change."""
    texts: int
    """Most texts that one of the requests embedded, the request included."""


class CountingEmbedder:
    """An embedder that counts the texts it is given."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        """The vectors of the wrapped embedder."""
        self.texts += len(texts)
        return self._embedder.embed(texts)


def measure(
    personas: Sequence[Persona],
    *,
    items: int = ITEMS,
    requests: int = 100,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> PastLatency:
    """Time requests over the items of several personas, dated four weeks before the last uses."""
    counting = CountingEmbedder(embedder or default_embedder())
    times: list[tuple[float, float]] = []
    texts: list[int] = []
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "past.db") as store:
        user = _store_user(store, personas, items)
        tuner = Tuner(store, embedder=counting)
        tuner.prepare(user.id)
        chosen = requests_for(personas, requests + 1, user)
        for number, request in enumerate(chosen):
            counting.texts = 0
            start, processor_start = perf_counter(), process_time()
            tuner.context(request)
            elapsed = perf_counter() - start, process_time() - processor_start
            if number:  # the first loads the models
                times.append(elapsed)
                texts.append(counting.texts)
            if progress:
                progress(number + 1, len(chosen))
    wall, processor = 1000 * np.array(times).T
    return PastLatency(
        items,
        float(np.median(wall)),
        float(np.percentile(wall, 95)),
        float(np.median(processor)),
        max(texts),
    )


def _store_user(store: Store, personas: Sequence[Persona], size: int) -> User:
    """A user with items of the personas; all of them are used again four weeks later."""
    contacts: list[Contact] = []
    items: list[Item] = []
    uses: list[UsageEvent] = []
    for persona in personas:
        contacts += persona.user.contacts
        for item, item_uses in shifted_items(persona):
            if len(items) == size:
                break
            items.append(Item(f"{persona.id}-{item.id}", item.app, item.fields))
            uses += [replace(use, item=items[-1].id) for use in item_uses]
    user = User("past", places=personas[0].user.places, contacts=tuple(contacts))
    last = max(request.time for request in requests_for(personas, 1, user)) + _LATER
    uses += [UsageEvent(item.id, last, "home") for item in items]
    store.put_user(user)
    store.put_items(user.id, items)
    store.put_uses(user.id, uses)
    return user
