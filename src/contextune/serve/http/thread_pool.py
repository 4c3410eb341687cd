"""Bounded thread pool with a queue limit and a timeout."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import ParamSpec, TypeVar

from contextune.serve.http.errors import overloaded, timed_out

Params = ParamSpec("Params")
Result = TypeVar("Result")


class WorkerPool:
    """Runs blocking calls in a fixed number of threads, each with its own connection to the store."""

    def __init__(self, threads: int, max_waiting: int, timeout: float) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="work")
        self._max_open = threads + max_waiting
        self._timeout = timeout
        self._lock = Lock()
        self._open_calls = 0

    @property
    def open_calls(self) -> int:
        """Number of calls in progress or queued."""
        return self._open_calls

    async def run(
        self, call: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Run a call in a thread; raises an `ApiError` if the queue is full or the call takes too long.

        A thread cannot be interrupted: a call that timed out runs on, keeps its slot, and its result is
        discarded.
        """
        with self._lock:
            if self._open_calls >= self._max_open:
                raise overloaded()
            self._open_calls += 1
        try:
            # the context carries the request's span
            future = self._executor.submit(copy_context().run, call, *args, **kwargs)
        except BaseException:
            self._release()
            raise
        future.add_done_callback(self._release)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._timeout)
        except TimeoutError:
            if future.done() and not future.cancelled():  # the call itself raised TimeoutError
                raise
            raise timed_out() from None

    def close(self) -> None:
        """Wait for calls in progress; cancel queued ones."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _release(self, _: "Future[Result] | None" = None) -> None:
        with self._lock:
            self._open_calls -= 1
