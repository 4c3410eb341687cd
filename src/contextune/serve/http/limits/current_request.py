"""User and deadline of the current request; reading its body, waiting and working share one timeout."""

from contextvars import ContextVar
from time import monotonic

_OWNER: ContextVar[str] = ContextVar("contextune_owner", default="")
_DEADLINE: ContextVar[float | None] = ContextVar("contextune_deadline", default=None)


def set_owner(user: str) -> None:
    """Set the user of the request that this task handles; queues and budgets are divided by user."""
    _OWNER.set(user)


def owner() -> str:
    """The user of the request; "" for those without one, such as health checks."""
    return _OWNER.get()


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
