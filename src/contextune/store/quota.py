"""Quotas per user, in entries and bytes; the store counts both with each write."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from contextune.errors import LimitError


@dataclass(frozen=True, slots=True)
class Quota:
    """What each user may store; None means no limit."""

    items: int | None = None
    uses: int | None = None
    item_bytes: int | None = None
    """Bytes of one item: its id, app and fields as JSON."""
    total_bytes: int | None = None
    """Bytes of all items, uses and feedback of a user."""
    feedback_bytes: int | None = None
    """Bytes of all feedback of a user."""


NO_QUOTA = Quota()


class StoredSizes(NamedTuple):
    """Entries and bytes that a user has stored, without vectors and indexes."""

    items: int
    uses: int
    feedback: int
    item_bytes: int
    use_bytes: int
    feedback_bytes: int

    @property
    def total_bytes(self) -> int:
        """Bytes of items, uses and feedback."""
        return self.item_bytes + self.use_bytes + self.feedback_bytes


_UNITS = {"total_bytes": "bytes", "feedback_bytes": "bytes of feedback"}


def stored_sizes(connection: sqlite3.Connection, user: int) -> StoredSizes:
    """What the user with this key has stored."""
    query = f"SELECT {', '.join(StoredSizes._fields)} FROM sizes WHERE user = ?"  # noqa: S608  # fixed names
    return StoredSizes(*connection.execute(query, (user,)).fetchone())


@contextmanager
def within_quota(
    connection: sqlite3.Connection,
    user: int,
    **limits: int | None,
) -> Generator[None]:
    """Raise `LimitError` if the block leaves the user with more than a limit, and more than before.

    A user who is over a limit already can still replace rows. `limits` are named as in `Quota`.
    """
    before = stored_sizes(connection, user)
    yield
    check_quota(before, stored_sizes(connection, user), **limits)


def check_quota(before: StoredSizes, after: StoredSizes, **limits: int | None) -> None:
    """Raise `LimitError` if more than a limit is stored, and more than before."""
    for name, limit in limits.items():
        if limit is not None and getattr(after, name) > max(getattr(before, name), limit):
            raise LimitError(_UNITS.get(name, name), limit)


def check_item_size(limit: int | None, *values: str) -> None:
    """Raise `LimitError` if one item has more bytes than the limit."""
    if limit is not None and sum(len(value.encode()) for value in values) > limit:
        raise LimitError("bytes", limit, "item")
