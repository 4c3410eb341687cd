"""Quotas of items and uses per user, without counting all rows at each write."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from contextune.errors import LimitError

What = Literal["items", "uses"]
_COUNT = {
    "items": "SELECT count(*) FROM items WHERE user = ?",
    "uses": "SELECT count(*) FROM uses WHERE user = ?",
}
_REVISION = {
    "items": "SELECT revision FROM users WHERE key = ?",
    "uses": "SELECT uses_revision FROM users WHERE key = ?",
}
_USERS = 10_000


class QuotaCounter:
    """Caches an upper bound of the count per user and revision: counting 100,000 items takes 40 ms."""

    def __init__(self) -> None:
        self._bounds: dict[tuple[What, int], tuple[int, int]] = {}

    @contextmanager
    def within(
        self, connection: sqlite3.Connection, user: int, what: What, limit: int | None
    ) -> Generator[None]:
        """Raise `LimitError` if the block leaves the user with more than `limit`, and more than before.

        A user who is over the limit already can still replace rows.
        """
        if limit is None:
            yield
            return

        def fetch(query: str) -> int:
            return connection.execute(query, (user,)).fetchone()[0]

        revision, before = self._bounds.get((what, user), (-1, 0))
        if revision != fetch(_REVISION[what]) or before >= limit:
            before = fetch(_COUNT[what])
        changes = connection.total_changes
        yield
        # every write counts as an addition; only if that exceeds the limit are the rows counted
        after = before + connection.total_changes - changes
        if after > limit:
            after = fetch(_COUNT[what])
            if after > max(before, limit):
                raise LimitError(what, limit)
        if len(self._bounds) >= _USERS:
            self._bounds.clear()
        self._bounds[what, user] = (fetch(_REVISION[what]), after)
