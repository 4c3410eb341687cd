"""Background warm-up: embeds a user's new items in one thread, so that other users do not wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

from contextune.serve.http.errors import ApiError
from contextune.serve.http.json_logs import log_event
from contextune.serve.http.limits.deadline import seconds_left

_LARGE = 20
"""Jobs with more changes than this always run in the warm-up thread."""


@dataclass(slots=True)
class _WarmupJob:
    future: Future[None]
    large: bool


class Warmup:
    """Queue of users whose index is being updated; only their own requests wait for it."""

    def __init__(self, prepare: Callable[[str], None], timeout: float) -> None:
        self._prepare = prepare
        self._timeout = timeout
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="prepare")
        self._jobs: dict[str, _WarmupJob] = {}
        self._running: tuple[str, Future[None]] | None = None
        self._lock = Lock()

    def start(self, user: str, changes: int) -> None:
        """Queue a user's changes; a job that has not begun covers them too."""
        with self._lock:
            job = self._jobs.get(user)
            if job is None or job.future.running() or job.future.done():
                future = self._executor.submit(self._run, user)
                self._jobs[user] = _WarmupJob(future, changes > _LARGE)
            else:
                job.large |= changes > _LARGE

    async def wait(self, user: str) -> None:
        """Wait for the user's job without blocking a thread; raises an `ApiError` on timeout.

        A small job that has not begun is cancelled and left to the request, so that the request does not
        wait behind large jobs of others.
        """
        job = self._jobs.get(user)
        if job is None or (not job.large and self._cancel_queued(user)):
            return
        if not await self._finished(job.future):
            raise ApiError(
                503,
                "preparing",
                "your items are still being indexed: try again in 10 seconds",
                headers={"Retry-After": "10"},
            )

    async def cancel(self, user: str) -> None:
        """Cancel the user's queued job and wait for a running one, before the user is forgotten.

        A running job holds the user's data in memory and caches some of it, so it must end first, even if
        a later job of the user has replaced it in the queue.
        """
        job = self._jobs.get(user)
        if job is not None and not self._cancel_queued(user):
            await self._finished(job.future)
        running = self._running
        if running is not None and running[0] == user:
            await self._finished(running[1])

    def close(self) -> None:
        """Wait for the running job; queued ones are left to the user's next request."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _cancel_queued(self, user: str) -> bool:
        """Cancel the user's job if it has not begun; whether it was cancelled."""
        with self._lock:
            job = self._jobs.get(user)
            cancelled = job is not None and job.future.cancel()
            if cancelled:
                del self._jobs[user]
            return cancelled

    async def _finished(self, future: Future[None]) -> bool:
        """Whether the job ends within the timeout, with whatever outcome."""
        # awaiting it directly would raise its exception, or cancel the caller if it was cancelled
        done, _ = await asyncio.wait([asyncio.wrap_future(future)], timeout=seconds_left(self._timeout))
        return bool(done)

    def _run(self, user: str) -> None:
        finished: Future[None] = Future()
        finished.set_running_or_notify_cancel()  # a waiter that gives up must not cancel it
        self._running = (user, finished)
        try:
            self._prepare(user)
        except Exception as error:  # the user's next request fails in the same way and reports it
            log_event("not prepared", error=error)
        finally:
            with self._lock:
                job = self._jobs.get(user)
                if job is not None and job.future.running():
                    del self._jobs[user]
            self._running = None
            finished.set_result(None)
