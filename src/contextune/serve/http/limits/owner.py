"""The user for whom the current request works: queues and budgets are divided by it."""

from contextvars import ContextVar

_OWNER: ContextVar[str] = ContextVar("contextune_owner", default="")


def set_owner(user: str) -> None:
    """Name the user of the request that this task handles."""
    _OWNER.set(user)


def owner() -> str:
    """The user of the request; "" for those without one, such as health checks."""
    return _OWNER.get()
