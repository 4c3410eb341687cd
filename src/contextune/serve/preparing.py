"""Items that were just put are embedded in a thread of their own, so that nobody else waits for them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from contextune.serve.logs import told
from contextune.serve.refusals import Refusal


class Preparing:
    """Users whose items are being made ready; only their own requests wait until that is done."""

    def __init__(self, prepare: Callable[[str], None], timeout: float) -> None:
        self._prepare = prepare
        self._timeout = timeout
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prepare")
        self._jobs: dict[str, Future[None]] = {}
        self._lock = Lock()

    def start(self, user: str) -> None:
        """Make the user's items ready; one that waits for the thread will see these items too."""
        with self._lock:
            waiting = self._jobs.get(user)
            if waiting is None or waiting.running() or waiting.done():
                self._jobs[user] = self._thread.submit(self._ready, user)

    async def done(self, user: str) -> None:
        """Wait until the user's items are ready, holding no thread meanwhile; or say when to come back."""
        job = self._jobs.get(user)
        if job is not None and not await self._ended(job):
            raise Refusal(
                503,
                "preparing",
                "your items are still being read in: try again in a while",
                headers={"Retry-After": "10"},
            )

    async def stop(self, user: str) -> None:
        """Leave it, where it has not begun: there is nothing to make ready of somebody forgotten."""
        with self._lock:
            job = self._jobs.get(user)
            if job is not None and job.cancel():
                del self._jobs[user]
        if job is not None:
            await self._ended(job)

    async def _ended(self, job: Future[None]) -> bool:
        """Whether it is over in time, however it ended."""
        # awaiting it would raise what it raised, and cancel whoever waits if it was cancelled
        over, _ = await asyncio.wait([asyncio.wrap_future(job)], timeout=self._timeout)
        return bool(over)

    def close(self) -> None:
        """Wait for the one at work; what has not begun is done by the user's next request."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _ready(self, user: str) -> None:
        try:
            self._prepare(user)
        except Exception as error:  # the user's next request meets it too, and is told
            told("not prepared", error=error)
        finally:
            with self._lock:
                job = self._jobs.get(user)
                if job is not None and job.running():
                    del self._jobs[user]
