"""Benchmark of requests after changes."""

from contextune.datasets import bundled_personas
from contextune_lab.bench.speed.changes import AFTER_ITEM, AFTER_OPENING, AFTER_USE, WARM, measure


def test_each_situation_is_measured() -> None:
    results = measure(bundled_personas()[:2], items=1000, changes=2)
    assert [row.situation for row in results] == [AFTER_OPENING, WARM, AFTER_USE, AFTER_ITEM]
    assert all(0 < row.median <= row.p95 for row in results)
