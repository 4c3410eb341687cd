"""How much one user may keep, without counting all of it each time something is added."""

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
    """Remembers how many there are at most, as of which revision: to count 100,000 items takes 40 ms."""

    def __init__(self) -> None:
        self._most: dict[tuple[What, int], tuple[int, int]] = {}

    @contextmanager
    def within(
        self, connection: sqlite3.Connection, user: int, what: What, most: int | None
    ) -> Generator[None]:
        """Refuse what is written within where it leaves the user with more than `most`, and than before.

        Whoever has too many already may still replace them.
        """
        if most is None:
            yield
            return

        def asked(query: str) -> int:
            return connection.execute(query, (user,)).fetchone()[0]

        revision, before = self._most.get((what, user), (-1, 0))
        if revision != asked(_REVISION[what]) or before >= most:
            before = asked(_COUNT[what])
        changes = connection.total_changes
        yield
        # all that was written counts as added, until that would be too much
        after = before + connection.total_changes - changes
        if after > most:
            after = asked(_COUNT[what])
            if after > max(before, most):
                raise LimitError(what, most)
        if len(self._most) >= _USERS:
            self._most.clear()
        self._most[what, user] = (asked(_REVISION[what]), after)
