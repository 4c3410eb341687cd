"""Speeds of batch work count the time in which all workers work."""

import pytest

from contextune_lab.bench.speed.fleet import PartTime, shared_window, texts_per_second


def test_time_before_the_last_worker_begins_does_not_count() -> None:
    alone = [PartTime(1, start, start + 1.0, 1.0, 10) for start in range(4)]
    late = [PartTime(2, start, start + 1.0, 1.0, 10) for start in (2.0, 3.0)]
    assert [part.start for part in shared_window(alone + late)] == [2.0, 2.0, 3.0, 3.0]
    assert texts_per_second(alone) == pytest.approx(10)
    assert texts_per_second(alone + late) == pytest.approx(20)


def test_worker_that_waits_for_another_at_the_end_counts() -> None:
    parts = [PartTime(1, 0.0, 1.0, 1.0, 10), PartTime(2, 0.0, 4.0, 4.0, 10)]
    assert texts_per_second(parts) == pytest.approx(5)
