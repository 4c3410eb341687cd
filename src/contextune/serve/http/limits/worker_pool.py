"""Thread pool for overload: a queue that can be served in time, deadlines, and no work for absent clients.

A call is refused when it arrives if the calls before it will take too long, judging by recent calls. A call
that waits leaves the queue when its client is gone, when it has waited too long, or when it could no longer
finish before its deadline. Once calls are late, the newest is served first: its client is the most likely to
be still waiting, while the oldest would be answered just after its client has given up. If that goes on, and
is no burst, calls that would be late are refused at once, and those that are late soon.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from threading import Condition, Thread
from time import monotonic
from typing import ParamSpec, TypeVar, cast

from contextune.serve.http.errors import overloaded, timed_out
from contextune.serve.http.limits.deadline import deadline
from contextune.serve.http.limits.service_times import ServiceTimes

Params = ParamSpec("Params")
Result = TypeVar("Result")
_LATE = 0.1
"""Share of the maximum wait after which a call is late: the newest call then comes first."""
_MAX_RETRY_AFTER = 60


@dataclass(eq=False, slots=True)
class _QueuedCall:
    """A call with its deadline and expected duration."""

    name: str
    call: Callable[[], object]
    expected: float
    deadline: float
    queued: float
    started: float = 0.0
    future: Future[object] = field(default_factory=Future[object])


class WorkerPool:
    """Runs blocking calls in a fixed number of threads, each with its own connection to the store."""

    def __init__(
        self,
        threads: int,
        max_waiting: int,
        timeout: float,
        max_wait: float | None = None,
        times: ServiceTimes | None = None,
    ) -> None:
        """`max_wait` limits the seconds in the queue; by default `timeout` does."""
        self._max_threads = threads
        self._max_open = threads + max_waiting
        self._timeout = timeout
        self._max_wait = min(timeout, max_wait or timeout)
        self._times = times or ServiceTimes()
        self._queue: deque[_QueuedCall] = deque()
        self._running: set[_QueuedCall] = set()
        self._threads: list[Thread] = []
        self._changed = Condition()
        self._is_closed = False
        self._late_since: float | None = None
        """When the first call was late since the queue was last empty."""

    @property
    def open_calls(self) -> int:
        """Number of calls in progress or queued."""
        return len(self._queue) + len(self._running)

    async def run(
        self, call: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Run a call in a thread; raises an `ApiError` if it cannot be started or finished in time.

        Cancelling the caller withdraws a call that has not begun. A thread cannot be interrupted: a call
        that timed out runs on, keeps its thread, and its result is discarded.
        """
        # the context carries the request's span
        bound = partial(copy_context().run, call, *args, **kwargs)
        job = self._submit(str(getattr(call, "__name__", "call")), bound, deadline(self._timeout))
        result = asyncio.wrap_future(job.future)
        try:
            in_queue = min(self._max_wait, job.deadline - monotonic())
            if not await _is_done(result, in_queue) and self._withdraw(job):
                raise overloaded(self._retry_after())
            if not await _is_done(result, job.deadline - monotonic()):
                raise timed_out()
        except BaseException:
            self._withdraw(job)
            result.cancel()
            raise
        return cast("Result", result.result())

    def close(self) -> None:
        """Wait for calls in progress; cancel queued ones."""
        with self._changed:
            self._is_closed = True
            for job in self._queue:
                job.future.cancel()
            self._queue.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _submit(self, name: str, call: Callable[[], object], end: float) -> _QueuedCall:
        """Queue a call; raises if the queue is full or cannot be served in time."""
        with self._changed:
            if self._is_closed or self.open_calls >= self._max_open:
                raise overloaded(self._retry_after())
            now, expected = monotonic(), self._times.expected(name)
            if self.open_calls >= self._max_threads:  # an idle thread takes any call, and updates the average
                wait = self._expected_wait(now)
                longest = _LATE * self._max_wait if self._is_overloaded(now) else self._max_wait
                if wait > min(longest, end - now - expected):
                    raise overloaded(self._retry_after())
            job = _QueuedCall(name, call, expected, end, now)
            self._queue.append(job)
            if len(self._threads) < min(self._max_threads, self.open_calls):
                thread = Thread(target=self._work, name=f"work_{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
            return job

    def _withdraw(self, job: _QueuedCall) -> bool:
        """Take a call out of the queue; False if it has begun or ended."""
        with self._changed:
            if not job.future.cancel() or job not in self._queue:
                return False
            self._queue.remove(job)
            return True

    def _expected_wait(self, now: float) -> float:
        """Seconds until a call queued now would begin; needs the lock."""
        rest = sum(max(0.0, job.expected - (now - job.started)) for job in self._running)
        return (rest + sum(job.expected for job in self._queue)) / self._max_threads

    def _retry_after(self) -> int:
        """Seconds after which the queue will be empty, at least one."""
        with self._changed:
            return min(_MAX_RETRY_AFTER, max(1, ceil(self._expected_wait(monotonic()))))

    def _work(self) -> None:
        while self._run_next():  # a function of its own, so that no data of a request outlives it here
            pass

    def _run_next(self) -> bool:
        """Wait for a call and run it; False when the pool is closed."""
        job = self._take()
        if job is None:
            return False
        try:
            result = job.call()
        except BaseException as error:  # the caller gets it
            self._finish(job)
            job.future.set_exception(error)
        else:
            self._finish(job)
            job.future.set_result(result)
        finally:
            del job  # an exception refers to this frame
        return True

    def _take(self) -> _QueuedCall | None:
        """The next call that can still finish in time; None when the pool is closed."""
        with self._changed:
            while True:
                while not self._queue:
                    self._late_since = None
                    if self._is_closed:
                        return None
                    self._changed.wait()
                now = monotonic()
                late = self._is_late(self._queue[0], now)
                job = self._queue.pop() if late else self._queue.popleft()
                if late:
                    self._refuse_late(now)
                if not job.future.set_running_or_notify_cancel():
                    continue
                # half of the timeout is always enough to try, so that a wrong average corrects itself
                if now + min(job.expected, self._timeout / 2) > job.deadline:
                    job.future.set_exception(overloaded(self._retry_after()))
                    continue
                job.started = now
                self._running.add(job)
                return job

    def _is_late(self, job: _QueuedCall, now: float) -> bool:
        return now - job.queued > _LATE * self._max_wait

    def _is_overloaded(self, now: float) -> bool:
        """Whether calls have been late for longer than a burst may last."""
        return self._late_since is not None and now - self._late_since > self._max_wait

    def _refuse_late(self, now: float) -> None:
        """Refuse late calls in an overload; needs the lock."""
        self._late_since = self._late_since or now
        while self._is_overloaded(now) and self._queue and self._is_late(self._queue[0], now):
            job = self._queue.popleft()
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(overloaded(self._retry_after()))

    def _finish(self, job: _QueuedCall) -> None:
        with self._changed:
            self._running.discard(job)
            if not self._queue:
                self._late_since = None
            self._times.record(job.name, monotonic() - job.started)


async def _is_done(future: "asyncio.Future[object]", seconds: float) -> bool:
    """Whether the future is done within so many seconds; a cancelled caller does not cancel it."""
    done, _ = await asyncio.wait([future], timeout=max(0.0, seconds))
    return bool(done)
