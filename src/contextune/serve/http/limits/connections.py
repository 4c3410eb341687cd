"""Limits on open connections, per address and in all, and the time for the head of a request."""

import sys
from collections import Counter
from dataclasses import dataclass, field

CONNECTIONS = "connections"
"""Key of the `ConnectionLimits` in the state that the application's lifespan yields."""
_DESCRIPTOR_RESERVE = 128
"""Descriptors left to the store, its threads, logs and models."""


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
