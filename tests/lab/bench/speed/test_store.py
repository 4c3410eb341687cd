"""Store benchmark."""

from contextune_lab.bench.speed.store import measure


def test_measure() -> None:
    rates = measure(items=50)
    assert set(rates) == {"load", "read", "single_put"}
    assert all(rate > 0 for rate in rates.values())
