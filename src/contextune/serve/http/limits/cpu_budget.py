"""Budget of CPU time per user: what a request costs is known only after it was answered, so it is owed."""

from collections.abc import Callable
from math import ceil
from threading import Lock
from time import monotonic

_MAX_RETRY_AFTER = 60
_MAX_USERS = 10_000
"""Users that are kept before those with a full budget are forgotten."""


class CpuBudget:
    """Seconds of CPU that each user may spend, in the memory of this process; a restart refills them."""

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = monotonic) -> None:
        """A budget grows by `rate` seconds a second, up to `burst` seconds."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._spent: dict[str, tuple[float, float]] = {}
        """By user, the seconds below the full budget, and when that was so."""
        self._lock = Lock()

    def seconds_until_free(self, user: str) -> int:
        """0 if the user has budget left, else the whole seconds until there is."""
        with self._lock:
            missing = self._missing(user) - self._burst
        return min(_MAX_RETRY_AFTER, max(1, ceil(missing / self._rate))) if missing >= 0 else 0

    def charge(self, user: str, seconds: float) -> None:
        """Take what a request of the user has cost; more than is left is owed."""
        with self._lock:
            self._spent[user] = (self._missing(user) + seconds, self._clock())
            if len(self._spent) > _MAX_USERS:
                for name in list(self._spent):
                    self._missing(name)

    def _missing(self, user: str) -> float:
        """Seconds below the full budget; forgets a user whose budget is full."""
        spent, time = self._spent.get(user, (0.0, 0.0))
        missing = max(0.0, spent - (self._clock() - time) * self._rate)
        if not missing:
            self._spent.pop(user, None)
        return missing
