"""What was just put is embedded in a thread of its own, so that nobody else waits for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

from contextune.serve.http.errors import ApiError
from contextune.serve.http.json_logs import told

_MANY = 20
"""More changes than this are left to the thread, however many wait for it."""


@dataclass(slots=True)
class _WarmupJob:
    future: Future[None]
    large: bool


class Warmup:
    """Users whose items are being made ready; only their own requests wait until that is done."""

    def __init__(self, prepare: Callable[[str], None], timeout: float) -> None:
        self._prepare = prepare
        self._timeout = timeout
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prepare")
        self._jobs: dict[str, _WarmupJob] = {}
        self._at_work: tuple[str, Future[None]] | None = None
        self._lock = Lock()

    def start(self, user: str, changes: int) -> None:
        """Make the user's items ready; a job that still waits for the thread will see these changes too."""
        with self._lock:
            waiting = self._jobs.get(user)
            if waiting is None or waiting.future.running() or waiting.future.done():
                future = self._thread.submit(self._ready, user)
                self._jobs[user] = _WarmupJob(future, changes > _MANY)
            else:
                waiting.large |= changes > _MANY

    async def done(self, user: str) -> None:
        """Wait until the user's items are ready, holding no thread meanwhile; or say when to come back.

        A little that has not begun is left to the request itself: it is not to wait behind much of others.
        """
        job = self._jobs.get(user)
        if job is None or (not job.large and self._left(user)):
            return
        if not await self._ended(job.future):
            raise ApiError(
                503,
                "preparing",
                "your items are still being read in: try again in a while",
                headers={"Retry-After": "10"},
            )

    async def stop(self, user: str) -> None:
        """Leave it, where it has not begun: there is nothing to make ready of somebody forgotten.

        What the thread is at is waited for, also where a later job has taken its place: until it ends, it
        holds what is to be forgotten, and remembers some of it.
        """
        job = self._jobs.get(user)
        if job is not None and not self._left(user):
            await self._ended(job.future)
        working = self._at_work
        if working is not None and working[0] == user:
            await self._ended(working[1])

    def close(self) -> None:
        """Wait for the one at work; what has not begun is done by the user's next request."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _left(self, user: str) -> bool:
        """Whether it had not begun, and will not."""
        with self._lock:
            job = self._jobs.get(user)
            left = job is not None and job.future.cancel()
            if left:
                del self._jobs[user]
            return left

    async def _ended(self, job: Future[None]) -> bool:
        """Whether it is over in time, however it ended."""
        # awaiting it would raise what it raised, and cancel whoever waits if it was cancelled
        over, _ = await asyncio.wait([asyncio.wrap_future(job)], timeout=self._timeout)
        return bool(over)

    def _ready(self, user: str) -> None:
        over: Future[None] = Future()
        over.set_running_or_notify_cancel()  # whoever stops waiting for it does not call it off
        self._at_work = (user, over)
        try:
            self._prepare(user)
        except Exception as error:  # the user's next request meets it too, and is told
            told("not prepared", error=error)
        finally:
            with self._lock:
                job = self._jobs.get(user)
                if job is not None and job.future.running():
                    del self._jobs[user]
            self._at_work = None
            over.set_result(None)
