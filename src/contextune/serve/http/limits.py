"""Limits of a process: requests per API token, CPU time per user, and open connections.

Connections are limited per address and in all, and so is the time for the head of a request.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from time import monotonic

CONNECTIONS = "connections"
"""Key of the `ConnectionLimits` in the state that the application's lifespan yields."""
_DESCRIPTOR_RESERVE = 128
"""Descriptors left to the store, its threads, logs and models."""
_MAX_RETRY_AFTER = 60
_MAX_USERS = 10_000
"""Users that are kept before those with a full budget are forgotten."""


@dataclass(slots=True)
class _TokenBucket:
    level: float
    time: float


class RateLimiter:
    """Rate limit by the token bucket algorithm, one bucket per API token; a restart refills them."""

    def __init__(self, rate: float, burst: int, *, clock: Callable[[], float] = monotonic) -> None:
        """Buckets hold `burst` requests and refill by `rate` a second."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: dict[str, _TokenBucket] = {}
        self._lock = Lock()

    def take(self, token: str, cost: float = 1.0) -> int:
        """Take the cost of a request: 0 if the bucket holds enough, else the seconds until it does.

        A cost above the burst counts as the burst, since it could never be paid otherwise.
        """
        now, cost = self._clock(), min(cost, float(self._burst))
        with self._lock:
            bucket = self._buckets.setdefault(token, _TokenBucket(float(self._burst), now))
            bucket.level = min(self._burst, bucket.level + (now - bucket.time) * self._rate)
            bucket.time = now
            if bucket.level < cost:
                return max(1, ceil((cost - bucket.level) / self._rate))
            bucket.level -= cost
            return 0


class CpuBudget:
    """Seconds of CPU that each user may spend; a restart refills them.

    The cost of a request is known only after it was answered, so it is owed.
    """

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


@dataclass(slots=True)
class ConnectionLimits:
    """Counts the connections of one process; only its event loop uses it."""

    total: int = 512
    per_address: int = 128
    head_timeout: float = 10.0
    """Seconds until the head of a request must have arrived."""
    _open: Counter[str] = field(default_factory=Counter[str])
    _count: int = 0

    def __post_init__(self) -> None:
        self.total = min(self.total, _available_descriptors())

    def add(self, address: str) -> bool:
        """Count a new connection; False, without counting it, if there are too many."""
        if self._count >= self.total or self._open[address] >= self.per_address:
            return False
        self._open[address] += 1
        self._count += 1
        return True

    def remove(self, address: str) -> None:
        """Stop counting a connection that `add` has counted."""
        self._count -= 1
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]


def _available_descriptors() -> int:
    """Connections for which this process has descriptors."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if limit == resource.RLIM_INFINITY else max(16, limit - _DESCRIPTOR_RESERVE)
