"""Requests as of last month."""

from contextune.datasets import bundled_personas
from contextune.embed import Embedder
from contextune_lab.bench.speed.past_requests import measure


def test_past_requests_are_timed_and_their_texts_counted(word_embedder: Embedder) -> None:
    personas = bundled_personas()[:3]
    past = measure(personas, items=60, requests=4, embedder=word_embedder)
    assert past.items == 60
    assert 0 < past.median <= past.p95
    assert past.processor > 0
    assert 1 <= past.texts < 60  # the request, and no item
