"""CPU time of threads that work for another counts for that one."""

from concurrent.futures import ThreadPoolExecutor
from time import thread_time

import pytest

from contextune._internal.cpu_time import cpu_seconds, map_in_threads


def spin(seconds: float) -> float:
    start = thread_time()
    while thread_time() - start < seconds:
        pass
    return seconds


def test_results_are_in_order_and_their_time_is_counted() -> None:
    with ThreadPoolExecutor(2) as pool:
        start = cpu_seconds()
        assert map_in_threads(pool, spin, [0.03, 0.01, 0.02]) == [0.03, 0.01, 0.02]
        assert cpu_seconds() - start >= 0.06


def test_time_of_threads_of_threads_is_counted() -> None:
    with ThreadPoolExecutor(1) as outer, ThreadPoolExecutor(1) as inner:
        start = cpu_seconds()
        map_in_threads(outer, lambda seconds: map_in_threads(inner, spin, [seconds]), [0.03])
        assert cpu_seconds() - start >= 0.03


def test_time_until_an_error_is_counted() -> None:
    def fail(seconds: float) -> None:
        spin(seconds)
        raise ZeroDivisionError

    with ThreadPoolExecutor(1) as pool:
        start = cpu_seconds()
        with pytest.raises(ZeroDivisionError):
            map_in_threads(pool, fail, [0.03])
        assert cpu_seconds() - start >= 0.03


def test_threads_have_times_of_their_own() -> None:
    with ThreadPoolExecutor(1) as pool, ThreadPoolExecutor(1) as helpers:
        start = cpu_seconds()
        pool.submit(map_in_threads, helpers, spin, [0.05]).result()
        assert cpu_seconds() - start < 0.05
