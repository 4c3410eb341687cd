"""Rate limit per API token, by the token bucket algorithm."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from threading import Lock
from time import monotonic


@dataclass(slots=True)
class _TokenBucket:
    level: float
    time: float


class RateLimiter:
    """One bucket per API token, in the memory of this process; a restart refills them."""

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
