"""The benchmark of speed measures what it says."""

from contextune.bench.latency import WHOLE, measure
from contextune.sources import bundled_personas


def test_each_method_and_size_is_measured() -> None:
    results = measure(bundled_personas()[:2], ["bm25", "semantic"], sizes=(80,), requests=3)
    assert [(row.method, row.items) for row in results] == [
        ("bm25", 33),
        ("semantic", 33),
        (WHOLE, 33),
        ("bm25", 80),
        ("semantic", 80),
        (WHOLE, 80),
    ]
    assert all(0 < row.median <= row.p95 for row in results)
