"""Builds the tuner in the background, so that the server starts at once."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Lock
from typing import TYPE_CHECKING

from contextune.errors import ContextuneError
from contextune.types import Progress, Request

if TYPE_CHECKING:
    from contextune.tuner import Tuner


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
    """Builds a tuner in a thread, and keeps it."""

    def __init__(self, build: "Callable[[Progress], Tuner]") -> None:
        """`build` must pass the `Progress` on to the tuner."""
        self._build = build
        self._progress = CancellableProgress()
        self._lock = Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._tuner: Future[Tuner] | None = None

    def start(self, user: str | None = None) -> "Future[Tuner]":
        """Start building, unless that was done; for `user`, all that a first request needs is loaded too.

        Needs no event loop, so that it can begin before the server is built.
        """
        with self._lock:
            if self._tuner is None or _failed(self._tuner):
                self._thread = self._thread or ThreadPoolExecutor(1, "contextune-models")
                self._tuner = self._thread.submit(self._load, user)
                if user is not None:
                    self._thread.submit(_warm, self._tuner, user)
            return self._tuner

    async def __call__(self) -> "Tuner":
        """The tuner; the first call builds it unless it was started before."""
        return await asyncio.wrap_future(self.start())

    def close(self) -> None:
        """Abort a build, or an embedding run of the tuner, that is in progress, and wait for its end."""
        self._progress.cancel()
        if self._thread:
            self._thread.shutdown(cancel_futures=True)

    def _load(self, user: str | None) -> "Tuner":
        tuner = self._build(self._progress)
        if user is not None:
            with suppress(Exception):  # a request fails in the same way and reports it
                tuner.context(Request("ready?", user), 1)
        return tuner


def _warm(tuner: "Future[Tuner]", user: str) -> None:
    """Load the models of tools and calls, and embed what later requests need."""
    with suppress(Exception):  # as above
        warm_up(tuner.result(), user)


def warm_up(tuner: "Tuner", user: str) -> None:
    """Load all models and embed what requests of the user need."""
    tuner.answer(Request("ready?", user))
    tuner.prepare(user)


def _failed(tuner: "Future[Tuner]") -> bool:
    return tuner.done() and (tuner.cancelled() or tuner.exception() is not None)
