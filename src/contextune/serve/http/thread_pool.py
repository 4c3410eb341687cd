"""Work that takes a core: done by a few threads, for which a few more requests may wait, and not for long."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import ParamSpec, TypeVar

from contextune.serve.http.errors import busy, timed_out

Given = ParamSpec("Given")
Result = TypeVar("Result")


class WorkerPool:
    """A fixed number of threads, so that each has a connection to the store and cores are not fought over."""

    def __init__(self, threads: int, waiting: int, timeout: float) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="work")
        self._most = threads + waiting
        self._timeout = timeout
        self._lock = Lock()
        self._open = 0

    @property
    def open(self) -> int:
        """How much is being done or waits to be."""
        return self._open

    async def do(self, call: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
        """What the call gives, or a refusal where there is too much to do or it takes too long.

        A thread cannot be stopped: what is given up goes on, keeps its place, and is thrown away.
        """
        with self._lock:
            if self._open >= self._most:
                raise busy()
            self._open += 1
        try:
            # the span of the request is in the context
            future = self._threads.submit(copy_context().run, call, *given, **named)
        except BaseException:
            self._done()
            raise
        future.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._timeout)
        except TimeoutError:
            if future.done() and not future.cancelled():  # the work's own error, not ours
                raise
            raise timed_out() from None

    def close(self) -> None:
        """Wait for what is being done."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _done(self, _: "Future[Result] | None" = None) -> None:
        with self._lock:
            self._open -= 1
