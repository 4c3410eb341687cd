"""The embedded store: one SQLite file, safe with many threads and processes at once."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from contextune.errors import InvalidDataError, StoreError, UnknownUserError
from contextune.store import sqlite_file as file
from contextune.store.database import Database, select_in
from contextune.store.protocol import StoreRevision, Vector, text_digest
from contextune.store.quota import QuotaCounter
from contextune.store.rows import (
    checked,
    feedback_from,
    feedback_row,
    item_row,
    items_from,
    use_row,
    user_from,
    user_row,
    uses_from,
    vector_blob,
    vector_from,
    zone_from,
)
from contextune.store.schema import STORE
from contextune.types import Feedback, Item, UsageEvent, User, local_time

# An unchanged item is not written again, so that loading the same data twice is no change.
_PUT_ITEM = """
    INSERT INTO items (user, id, app, fields) VALUES (?, ?, ?, ?)
    ON CONFLICT (user, id) DO UPDATE SET app = excluded.app, fields = excluded.fields
    WHERE app IS NOT excluded.app OR fields IS NOT excluded.fields"""

_PUT_USER = """
    INSERT INTO users (id, profile, places, contacts, zone) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET profile = excluded.profile, places = excluded.places,
    contacts = excluded.contacts, zone = excluded.zone"""

_PUT_USE = """
    INSERT INTO uses (user, item, moment, place, time) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (user, item, moment, place) DO NOTHING"""

_PUT_VECTOR = """
    INSERT INTO vectors (user, model, digest, vector) VALUES (?, ?, ?, ?)
    ON CONFLICT (user, digest, model) DO UPDATE SET vector = excluded.vector"""
_PUT_PORTRAIT = """
    INSERT INTO portraits (user, item, model, digest, vector)
    SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM items WHERE user = ? AND id = ?)
    ON CONFLICT (user, item, model) DO UPDATE SET digest = excluded.digest, vector = excluded.vector"""


class SQLiteStore(Database):
    """A store in one file, with a write-ahead log beside it while it is open.

    Writers wait for each other, up to `timeout` seconds; readers wait for nobody. An iterable
    given to a writing call is read while the store is locked for other writers, so it should
    not take long over each item.
    """

    def __init__(self, path: str | Path, *, timeout: float = 30.0) -> None:
        super().__init__(path, STORE, timeout)
        self._room = QuotaCounter()

    def put_user(self, user: User) -> None:
        """Add the user, or replace what is known of them; their items and uses stay."""
        row = user_row(user)
        with self._writing() as connection:
            connection.execute(_PUT_USER, row)
            _count_change(connection, _key(connection, user.id))

    def user(self, user: str) -> User:
        """What is known of the user."""
        with self._reading() as connection:
            key = _key(connection, user)
            row = connection.execute(
                "SELECT id, profile, places, contacts, zone FROM users WHERE key = ?", (key,)
            ).fetchone()
        return user_from(row)

    def users(self) -> list[str]:
        """The ids of all users, sorted."""
        with self._reading() as connection:
            return [row[0] for row in connection.execute("SELECT id FROM users ORDER BY id").fetchall()]

    def put_items(self, user: str, items: Iterable[Item], *, most: int | None = None) -> int:
        """Add items, or replace those of the same id; how many there were. More than `most` are refused."""
        count = 0
        with self._writing() as connection:
            key = _key(connection, user)
            has_vectors = _has_vectors(connection, key)

            def rows() -> Iterator[tuple[Any, ...]]:
                nonlocal count
                for count, item in enumerate(items, 1):  # noqa: B007  # read by the caller
                    row = item_row(key, item)
                    if has_vectors:
                        _drop_vectors(connection, key, item.id, keep=item.text)
                    yield row

            with self._room.within(connection, key, "items", most):
                if connection.executemany(_PUT_ITEM, rows()).rowcount:
                    _count_change(connection, key)
        return count

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:
        """The user's items, sorted by id; or those asked for that exist, in the order asked for."""
        with self._reading() as connection:
            key = _key(connection, user)
            if ids is None:
                rows = connection.execute(
                    "SELECT id, app, fields FROM items WHERE user = ? ORDER BY id", (key,)
                ).fetchall()
            else:
                query = "SELECT id, app, fields FROM items WHERE user = ? AND id IN ({})"
                rows = select_in(connection, query, (key,), [checked(one, "the item id") for one in ids])
        found = items_from(rows)
        if ids is None:
            return found
        by_id = {item.id: item for item in found}
        return [by_id[one] for one in ids if one in by_id]

    def delete_items(self, user: str, ids: Iterable[str]) -> int:
        """Delete items with their uses and vectors; how many items there were."""
        with self._writing() as connection:
            key = _key(connection, user)
            has_vectors = _has_vectors(connection, key)

            def rows() -> Iterator[tuple[int, str]]:
                for item in ids:
                    checked(item, "the item id")
                    if has_vectors:
                        _drop_vectors(connection, key, item)
                    yield key, item

            deleted = connection.executemany("DELETE FROM items WHERE user = ? AND id = ?", rows()).rowcount
            if deleted:
                _count_change(connection, key)
        return deleted

    def put_uses(self, user: str, uses: Iterable[UsageEvent], *, most: int | None = None) -> int:
        """Record uses; how many are new. One that is there already (same item, time and place) stays one."""
        item = ""
        with self._writing() as connection:
            key = _key(connection, user)

            def rows() -> Iterator[tuple[Any, ...]]:
                nonlocal item
                for use in uses:
                    item = use.item
                    yield use_row(key, use)

            with self._room.within(connection, key, "uses", most):
                try:
                    new = connection.executemany(_PUT_USE, rows()).rowcount
                except sqlite3.IntegrityError:
                    raise InvalidDataError(
                        f"a use of item {item!r}, which user {user!r} does not have: put the item first"
                    ) from None
                if new:
                    _count_change(connection, key, "uses_revision")
        return new

    def uses(self, user: str, *, item: str | None = None) -> list[UsageEvent]:
        """The user's uses in order of time, on their wall clock; of one item, or of all."""
        with self._reading() as connection:
            key = _key(connection, user)
            zone = connection.execute("SELECT zone FROM users WHERE key = ?", (key,)).fetchone()[0]
            query, values = "SELECT item, time, place FROM uses WHERE user = ?", [key]
            if item is not None:
                query, values = f"{query} AND item = ?", [key, checked(item, "the item id")]
            rows = connection.execute(f"{query} ORDER BY item, moment, place", values).fetchall()
        clock = zone_from(zone)
        return sorted(uses_from(rows), key=lambda use: local_time(use.time, clock))

    def revision(self, user: str) -> StoreRevision:
        """Numbers that grow with every change to the user's data, in whatever process it was made."""
        query = "SELECT revision, uses_revision FROM users WHERE key = ?"
        with self._reading() as connection:
            return StoreRevision(*connection.execute(query, (_key(connection, user),)).fetchone())

    def vectors(self, user: str, model: str, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        """Vectors kept for these text digests under this model; those not kept are left out."""
        query = "SELECT digest, vector FROM vectors WHERE user = ? AND model = ? AND digest IN ({})"
        with self._reading() as connection:
            key = _key(connection, user)
            rows = select_in(connection, query, (key, checked(model, "the model")), digests)
        return {digest: vector_from(blob) for digest, blob in rows}

    def put_vectors(self, user: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors. This does not count as a change to the user's data."""
        checked(model, "the model")
        with self._writing() as connection:
            key = _key(connection, user)
            rows = ((key, model, digest, vector_blob(vector)) for digest, vector in vectors.items())
            connection.executemany(_PUT_VECTOR, rows)

    def portraits(
        self, user: str, model: str, items: Sequence[str] | None = None
    ) -> dict[str, tuple[bytes, Vector]]:
        """By item, of all or those asked for: the digest of its portrait, and the vector under this model."""
        query = "SELECT item, digest, vector FROM portraits WHERE user = ? AND model = ?"
        with self._reading() as connection:
            values = _key(connection, user), checked(model, "the model")
            if items is None:
                rows = connection.execute(query, values).fetchall()
            else:
                rows = select_in(connection, query + " AND item IN ({})", values, items)
        return {item: (digest, vector_from(blob)) for item, digest, blob in rows}

    def put_portraits(self, user: str, model: str, portraits: Mapping[str, tuple[bytes, Vector]]) -> None:
        """Keep vectors by item, in place of earlier ones; those of items that are gone are left out."""
        checked(model, "the model")
        with self._writing() as connection:
            key = _key(connection, user)
            rows = (
                (key, item, model, digest, vector_blob(vector), key, item)
                for item, (digest, vector) in portraits.items()
            )
            connection.executemany(_PUT_PORTRAIT, rows)

    def put_feedback(self, user: str, feedback: Feedback) -> None:
        """Keep what became of a request."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO feedback (user, request, used, rejected, tool, ok) VALUES (?, ?, ?, ?, ?, ?)",
                feedback_row(_key(connection, user), feedback),
            )

    def feedback(self, user: str) -> list[Feedback]:
        """What became of the user's requests, in the order it was told."""
        query = "SELECT request, used, rejected, tool, ok FROM feedback WHERE user = ? ORDER BY key"
        with self._reading() as connection:
            rows = connection.execute(query, (_key(connection, user),)).fetchall()
        return [feedback_from(user, row) for row in rows]

    def forget(self, user: str) -> None:
        """Erase the user so that no trace of them is left in the store's files.

        The rows go at once; then the file is written anew without them, which takes a while in a
        large store and has to wait for readers. Where that fails, calling `forget` again goes on with it.
        """
        digest = text_digest(checked(user, "the user id"))
        with self._writing() as connection:
            if connection.execute("DELETE FROM users WHERE id = ?", (user,)).rowcount:
                connection.execute("INSERT INTO forgotten VALUES (?) ON CONFLICT DO NOTHING", (digest,))
            elif not connection.execute("SELECT 1 FROM forgotten WHERE digest = ?", (digest,)).fetchall():
                raise _unknown(user)
        try:
            self._clean()
        except StoreError as error:
            raise StoreError(
                f"the rows of user {user!r} are deleted, but their bytes may still be in the file; "
                f"call forget({user!r}) again to clean it. What was in the way: {error}"
            ) from error

    def _clean(self) -> None:
        """Write the file anew without what was deleted, and empty the log."""
        with self._connection() as connection:
            # Only those forgotten by now: one forgotten meanwhile by another process is not cleaned up yet.
            cleaned = connection.execute("SELECT digest FROM forgotten").fetchall()
            connection.execute("VACUUM")
            file.empty_log(connection, self._timeout)
            connection.executemany("DELETE FROM forgotten WHERE digest = ?", cleaned)
            file.empty_log(connection, self._timeout)


def _unknown(user: str) -> UnknownUserError:
    return UnknownUserError(f"the store has no user {user!r}: put_user them first, or load their data")


def _key(connection: sqlite3.Connection, user: str) -> int:
    rows = connection.execute(
        "SELECT key FROM users WHERE id = ?", (checked(user, "the user id"),)
    ).fetchall()
    if not rows:
        raise _unknown(user)
    return rows[0][0]


def _count_change(
    connection: sqlite3.Connection, key: int, column: Literal["revision", "uses_revision"] = "revision"
) -> None:
    connection.execute("UPDATE counter SET revision = revision + 1")
    query = f"UPDATE users SET {column} = (SELECT revision FROM counter) WHERE key = ?"  # noqa: S608  # of two
    connection.execute(query, (key,))


def _has_vectors(connection: sqlite3.Connection, key: int) -> bool:
    query = "SELECT EXISTS (SELECT 1 FROM {} WHERE user = ?)"
    return any(
        connection.execute(query.format(table), (key,)).fetchone()[0] for table in ("vectors", "portraits")
    )


def _drop_vectors(connection: sqlite3.Connection, key: int, item: str, keep: str | None = None) -> None:
    """Delete the vectors of the item's text, unless that text is to be kept: deleted words do not live on."""
    rows = connection.execute("SELECT id, app, fields FROM items WHERE user = ? AND id = ?", (key, item))
    for old in items_from(rows.fetchall()):
        if old.text != keep:
            digest = text_digest(old.text)
            connection.execute("DELETE FROM vectors WHERE user = ? AND digest = ?", (key, digest))
            connection.execute("DELETE FROM portraits WHERE user = ? AND item = ?", (key, item))
