"""Embed a user's items in the background, so that requests need not wait for the vectors."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Thread
from typing import NamedTuple

from contextune.errors import UnknownUserError

FEW_ITEMS = 64
"""So many new items are embedded within a request: that takes about a second."""


class Preparation(NamedTuple):
    """How many of a user's items have vectors."""

    ready: int
    total: int

    @property
    def done(self) -> bool:
        """Whether all items have vectors; until then, some requests are answered by words alone."""
        return self.ready == self.total


@dataclass(eq=False)
class _Job:
    """Embedding of one user's items."""

    missing: int
    embedded: int = 0
    error: Exception | None = None
    is_over: bool = False


class BackgroundEmbedding:
    """Runs one thread per user; the threads take turns. Thread-safe."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._lock = Lock()
        self._turn = Lock()

    def is_running(self, user: str) -> bool:
        """Whether the user's items are being embedded; raises the error that ended it, once."""
        with self._lock:
            job = self._jobs.get(user)
            if job is None:
                return False
            if job.is_over:
                del self._jobs[user]
        if job.error:
            raise job.error
        return not job.is_over

    def start(self, user: str, missing: int, embed: Callable[[], object]) -> None:
        """Call `embed` in a thread, unless one is running for the user."""
        with self._lock:
            if user in self._jobs:
                return
            job = self._jobs[user] = _Job(missing)
        # a daemon: a program that ends need not wait, since what is embedded has been stored
        Thread(target=self._run, args=(job, embed), name="contextune-embed", daemon=True).start()

    def report(self, user: str, embedded: int) -> None:
        """Note how many of the missing items have been embedded."""
        with self._lock:
            if user in self._jobs:
                self._jobs[user].embedded = embedded

    def pending(self, user: str) -> int:
        """How many of the user's items are still to be embedded by a running thread."""
        with self._lock:
            job = self._jobs.get(user)
            return 0 if job is None or job.is_over else max(0, job.missing - job.embedded)

    def forget(self, user: str) -> None:
        """Drop what is known of a user; the thread ends when it finds no user to store vectors for."""
        with self._lock:
            self._jobs.pop(user, None)

    def _run(self, job: _Job, embed: Callable[[], object]) -> None:
        try:
            with self._turn:
                embed()
        except UnknownUserError:
            pass  # forgotten meanwhile
        except Exception as error:  # raised by the user's next request
            job.error = error
        job.is_over = True
