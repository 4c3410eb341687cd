"""Threads that share the work of one request, as many as the user allows."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

THREADS_VARIABLE = "CONTEXTUNE_THREADS"
"""Threads for one request: 1 if several processes share the cores, 0 or unset for one per core."""
_MOST = 4
"""More would mostly wait for each other: the work of one request is a few milliseconds."""


def thread_count() -> int:
    """Threads that one request may use; a setting that is not a number counts as unset."""
    chosen = os.environ.get(THREADS_VARIABLE, "0")
    threads = int(chosen) if chosen.isdecimal() else 0
    return min(threads or os.cpu_count() or 1, _MOST)


def helper_threads() -> ThreadPoolExecutor:
    """Threads beside the caller's, started on first use; a forked process starts its own."""
    return _pool(os.getpid())


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    del process
    return ThreadPoolExecutor(_MOST - 1, "contextune-helper")
