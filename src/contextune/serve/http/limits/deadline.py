"""Deadline of the current request: reading its body, waiting and working share one timeout."""

from contextvars import ContextVar
from time import monotonic

_DEADLINE: ContextVar[float | None] = ContextVar("contextune_deadline", default=None)


def start_deadline(seconds: float) -> None:
    """Give the request that this task handles so many seconds from now."""
    _DEADLINE.set(monotonic() + seconds)


def deadline(timeout: float) -> float:
    """The time on the monotonic clock by which the request must be answered; without one, after `timeout`."""
    value = _DEADLINE.get()
    return monotonic() + timeout if value is None else value


def seconds_left(timeout: float) -> float:
    """Seconds until the deadline, not below zero; without a deadline, `timeout`."""
    return max(0.0, deadline(timeout) - monotonic())
