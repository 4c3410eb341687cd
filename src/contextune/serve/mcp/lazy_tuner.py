"""Builds the tuner in the background, so that the server starts at once."""

import asyncio
from collections.abc import Callable
from threading import Event

from contextune.errors import ContextuneError
from contextune.tuner import Tuner
from contextune.types import Progress


class CancellableProgress:
    """A `Progress` callback that can abort the job it is passed to, which runs in a thread."""

    def __init__(self) -> None:
        self._cancelled = Event()

    def __call__(self, done: int, of: int) -> None:
        """Raise if the job was cancelled."""
        if self._cancelled.is_set():
            raise ContextuneError(f"cancelled after {done} of {of}: the server is shutting down")

    def cancel(self) -> None:
        """Abort the job at its next progress report."""
        self._cancelled.set()


class LazyTuner:
    """Builds a tuner in a thread on first use, and keeps it."""

    def __init__(self, build: Callable[[Progress], Tuner]) -> None:
        """`build` must pass the `Progress` on to the tuner."""
        self._build = build
        self._progress = CancellableProgress()
        self._lock = asyncio.Lock()
        self._tuner: Tuner | None = None

    async def __call__(self) -> Tuner:
        """The tuner; the first call builds it."""
        async with self._lock:
            if self._tuner is None:
                self._tuner = await asyncio.to_thread(self._build, self._progress)
            return self._tuner

    def cancel(self) -> None:
        """Abort a build, or an embedding run of the tuner, that is in progress."""
        self._progress.cancel()
