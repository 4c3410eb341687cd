"""How often a token may ask: a bucket that fills at an even rate, out of which every request takes."""

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
    """A bucket for each token. They are in the memory of one process, and full again after a restart."""

    def __init__(self, rate: float, burst: int, *, clock: Callable[[], float] = monotonic) -> None:
        """`rate` comes back each second, up to `burst`."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: dict[str, _TokenBucket] = {}
        self._lock = Lock()

    def take(self, token: str, cost: float = 1.0) -> int:
        """Take what a request costs; if there is not enough, the seconds after which there will be, else 0.

        What costs more than a whole bucket costs a whole one.
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
