"""CPU time of a thread, with that of the threads which work for it."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from threading import local
from time import thread_time
from typing import TypeVar

Value = TypeVar("Value")
Result = TypeVar("Result")


class _Helped(local):
    """Seconds of CPU that other threads have spent for this one."""

    seconds = 0.0


_HELPED = _Helped()


def cpu_seconds() -> float:
    """Seconds of CPU of the calling thread, and of what `map_in_threads` has run for it."""
    return thread_time() + _HELPED.seconds


def map_in_threads(
    pool: Executor, function: Callable[[Value], Result], values: Iterable[Value]
) -> list[Result]:
    """The results of a function for all values, in order; the pool's CPU time counts as the caller's."""
    spent: list[float] = []

    def run(value: Value) -> Result:
        start = cpu_seconds()
        try:
            return function(value)
        finally:
            spent.append(cpu_seconds() - start)

    try:
        return list(pool.map(run, values))
    finally:
        _HELPED.seconds += sum(spent)
