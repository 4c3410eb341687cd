"""Long preparations beside the serving: whoever starts a server does not wait for it to be warm."""

import asyncio
from collections.abc import Callable
from threading import Event

from contextune.errors import ContextuneError
from contextune.tuner import Tuner
from contextune.types import Progress


class CancellableProgress:
    """A `Progress` that ends a long job in its thread once nobody waits for it any more."""

    def __init__(self) -> None:
        self._over = Event()

    def __call__(self, done: int, of: int) -> None:
        """Raise if it is over."""
        if self._over.is_set():
            raise ContextuneError(f"ended after {done} of {of}: the server was told to end")

    def end(self) -> None:
        """Nobody waits any more."""
        self._over.set()


class LazyTuner:
    """A tuner that is made, in a thread, when it is first asked for."""

    def __init__(self, make: Callable[[Progress], Tuner]) -> None:
        """`make` is given what the tuner's `progress` has to be."""
        self._make = make
        self._heed = CancellableProgress()
        self._making = asyncio.Lock()
        self._made: Tuner | None = None

    async def __call__(self) -> Tuner:
        """The tuner."""
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._make, self._heed)
            return self._made

    def end(self) -> None:
        """Let what is under way come to an end."""
        self._heed.end()
