"""Background warm-up: embeds users' new items in one thread, the smallest job first.

A large job is interrupted between chunks of items by smaller ones, one at a time, so that a user with few new
items does not wait for one with many, and the large job goes on nevertheless.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread, current_thread

from contextune.serve.http.errors import ApiError
from contextune.serve.http.observability import log_event
from contextune.serve.http.worker_pool import seconds_left

_LARGE = 20
"""Jobs with more changes than this always run in the warm-up thread."""
_MAX_DEPTH = 10
"""Jobs that may be interrupted at the same time."""


class _JobCancelled(Exception):  # noqa: N818  # not an error
    """The user of the running job is being forgotten."""


@dataclass(eq=False, slots=True)
class WarmupJob:
    """A user whose items are to be embedded."""

    user: str
    changes: int
    is_cancelled: bool = False
    finished: Future[None] = field(default_factory=Future[None])


class Warmup:
    """Queue of users whose index is being updated; only their own requests wait for it."""

    def __init__(self, prepare: Callable[[str], None], timeout: float) -> None:
        """`prepare` should call `interrupt` between chunks of its work."""
        self._prepare = prepare
        self._timeout = timeout
        self._queue: dict[str, WarmupJob] = {}
        self._running: list[WarmupJob] = []
        """The job in progress, last, after those that it interrupts."""
        self._changed = Condition()
        self._thread: Thread | None = None
        self._is_closed = False

    def start(self, user: str, changes: int) -> None:
        """Queue a user's changes; a job that has not begun covers them too."""
        with self._changed:
            if self._is_closed:
                return
            job = self._queue.get(user)
            if job is None:
                self._queue[user] = WarmupJob(user, changes)
            else:
                job.changes += changes
            if self._thread is None:
                self._thread = Thread(target=self._work, name="prepare", daemon=True)
                self._thread.start()
            self._changed.notify()

    def interrupt(self, done: int, total: int) -> None:
        """Run one smaller job, if there is one; for `prepare` to call with its progress.

        In any other thread than that of the warm-up, this does nothing.
        """
        if current_thread() is not self._thread:
            return
        with self._changed:
            if self._running[-1].is_cancelled:
                raise _JobCancelled
            job = self._take(total - done) if len(self._running) < _MAX_DEPTH else None
        if job is not None:
            self._execute(job)

    async def wait(self, user: str) -> None:
        """Wait for the user's jobs without blocking a thread; raises an `ApiError` on timeout.

        A small job that has not begun is dropped and left to the request, so that the request does not wait
        for jobs of others.
        """
        with self._changed:
            jobs = self._running_jobs(user)
            if job := self._queue.get(user):
                if job.changes > _LARGE:
                    jobs.append(job)
                else:
                    self._drop(job)
        for job in jobs:
            if not await self._has_finished(job):
                raise ApiError(
                    503,
                    "preparing",
                    "your items are still being indexed: try again in 10 seconds",
                    headers={"Retry-After": "10"},
                )

    async def cancel(self, user: str) -> None:
        """Cancel the user's jobs, before the user is forgotten.

        A running job holds the user's data in memory and caches some of it, so it must end first. It ends
        at its next interrupt.
        """
        for job in self.cancel_jobs(user):
            await self._has_finished(job)

    def cancel_jobs(self, user: str) -> list[WarmupJob]:
        """Cancel the user's jobs without waiting; return those that still run."""
        with self._changed:
            if job := self._queue.get(user):
                self._drop(job)
            jobs = self._running_jobs(user)
            for job in jobs:
                job.is_cancelled = True
        return jobs

    def close(self) -> None:
        """Wait for the running job; queued ones are left to the user's next request."""
        with self._changed:
            self._is_closed = True
            for job in [*self._queue.values()]:
                self._drop(job)
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _running_jobs(self, user: str) -> list[WarmupJob]:
        return [job for job in self._running if job.user == user]

    def _drop(self, job: WarmupJob) -> None:
        """Take a job out of the queue; needs the lock."""
        del self._queue[job.user]
        job.finished.set_result(None)

    async def _has_finished(self, job: WarmupJob) -> bool:
        """Whether the job ends within the timeout, with whatever outcome."""
        finished = asyncio.wrap_future(job.finished)  # not cancelled when a waiter gives up
        done, _ = await asyncio.wait([finished], timeout=seconds_left(self._timeout))
        return bool(done)

    def _take(self, below: int | None = None) -> WarmupJob | None:
        """The smallest job of the queue, with fewer changes than `below`; needs the lock."""
        running = {job.user for job in self._running}
        jobs = [job for job in self._queue.values() if job.user not in running]
        job = min(jobs, key=lambda job: job.changes, default=None)
        if job is None or (below is not None and job.changes >= below):
            return None
        del self._queue[job.user]
        self._running.append(job)
        return job

    def _work(self) -> None:
        while self._run_next():
            pass

    def _run_next(self) -> bool:
        with self._changed:
            while (job := self._take()) is None:
                if self._is_closed:
                    return False
                self._changed.wait()
        self._execute(job)
        return True

    def _execute(self, job: WarmupJob) -> None:
        try:
            self._prepare(job.user)
        except _JobCancelled:
            pass
        except Exception as error:  # the user's next request fails in the same way and reports it
            log_event("not prepared", error=error)
        finally:
            with self._changed:
                self._running.remove(job)
            job.finished.set_result(None)
