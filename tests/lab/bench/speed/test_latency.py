"""Latency benchmark."""

from dataclasses import replace
from datetime import datetime

from tests.counting_embedder import CountingEmbedder

from contextune.context import ContextRetriever
from contextune.datasets import bundled_personas
from contextune.embed import Embedder
from contextune.store import SQLiteStore
from contextune_lab.bench.speed.large_users import LargeUsers, requests_for
from contextune_lab.bench.speed.latency import ALL_STAGES, STAGES, measure


def test_each_method_size_and_stage_is_measured() -> None:
    personas = [replace(persona, items=persona.items[:12]) for persona in bundled_personas()[:2]]
    results = measure(personas, ["bm25", "semantic"], sizes=(40,), requests=3)
    rows = ["bm25", "semantic", ALL_STAGES, *STAGES]
    assert [(row.method, row.items) for row in results] == [(row, size) for size in (12, 40) for row in rows]
    assert all(0 < row.median <= row.p95 for row in results)


def test_large_users_need_no_embedding(store: SQLiteStore, word_embedder: Embedder) -> None:
    personas = bundled_personas()[:2]
    user = LargeUsers.from_personas(personas, word_embedder).store_user(store, 150, word_embedder.name)
    requests = requests_for(personas, 5, user)
    items, uses = store.items(user.id), store.uses(user.id)
    assert len(items) == len({item.text for item in items}) == 150
    assert len(requests) == 5
    # as for somebody who asks now: all is there by then, and something lies ahead
    first = min(request.time for request in requests)
    assert all(item.made is None or item.made < first for item in items)
    assert all(use.time < first for use in uses)
    assert any(item.time and item.time > max(request.time for request in requests) for item in items)
    assert first >= datetime(2024, 5, 13)
    counting = CountingEmbedder(word_embedder)
    for request in requests:
        assert len(ContextRetriever(store, counting).rank(request, 10)) == 10
    assert not {item.text for item in items} & {text.split(" — at:")[0] for text in counting.texts}
    assert len(set(counting.texts)) <= 2 * len(requests)
