"""`SQLiteStore`: one SQLite file, safe for many threads and processes."""

import logging
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from contextune.errors import InvalidDataError, StoreError, UnknownUserError
from contextune.store import sqlite_file
from contextune.store.database import Database, select_in
from contextune.store.protocol import StoreRevision, Vector, text_digest
from contextune.store.quota import QuotaCounter
from contextune.store.rows import (
    check_unicode,
    feedback_row,
    item_row,
    parse_feedback,
    parse_items,
    parse_user,
    parse_uses,
    parse_vector,
    parse_zone,
    use_row,
    user_row,
    vector_blob,
)
from contextune.store.schema import STORE_SCHEMA
from contextune.types import Feedback, Item, UsageEvent, User, local_time

_log = logging.getLogger(__name__)
# Unchanged items are not written, so that loading the same data twice changes nothing.
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
    """A store in one SQLite file, with a write-ahead log beside it while it is open.

    Writers wait for each other, up to `timeout` seconds; readers never wait. An iterable passed to a writing
    call is consumed while the store is locked for other writers, so it should be fast.
    """

    def __init__(self, path: str | Path, *, timeout: float = 30.0) -> None:
        super().__init__(path, STORE_SCHEMA, timeout)
        self._quota = QuotaCounter()

    def put_user(self, user: User) -> None:
        """Add or replace the user; items and uses stay."""
        row = user_row(user)
        with self._writing() as connection:
            connection.execute(_PUT_USER, row)
            _bump_revision(connection, _key(connection, user.id))

    def user(self, user: str) -> User:
        """The user's profile, places, contacts and time zone."""
        with self._reading() as connection:
            key = _key(connection, user)
            row = connection.execute(
                "SELECT id, profile, places, contacts, zone FROM users WHERE key = ?", (key,)
            ).fetchone()
        return parse_user(row)

    def users(self) -> list[str]:
        """The ids of all users, sorted."""
        with self._reading() as connection:
            return [row[0] for row in connection.execute("SELECT id FROM users ORDER BY id").fetchall()]

    def put_items(self, user: str, items: Iterable[Item], *, limit: int | None = None) -> int:
        """Add or replace items; return the number written. More than `limit` raise `LimitError`.

        A field that is named like a time and cannot be read as one is logged, by application and field.
        """
        count = 0
        unread: Counter[tuple[str, str]] = Counter()
        with self._writing() as connection:
            key = _key(connection, user)
            has_vectors = _has_vectors(connection, key)

            def rows() -> Iterator[tuple[Any, ...]]:
                nonlocal count
                for count, item in enumerate(items, 1):  # noqa: B007  # returned below
                    row = item_row(key, item)
                    unread.update((item.app, name) for name in item.unread_times)
                    if has_vectors:
                        _delete_vectors(connection, key, item.id, keep=item.text)
                    yield row

            with self._quota.within(connection, key, "items", limit):
                if connection.executemany(_PUT_ITEM, rows()).rowcount:
                    _bump_revision(connection, key)
        for (app, name), number in unread.items():
            _log.warning(
                "%d of %d items: the field %r of %.40r is not a time (write it as 2024-05-16T19:00), "
                "so it is read as text",
                number,
                count,
                name,
                app,
            )
        return count

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:
        """The user's items, sorted by id; or those of `ids` that exist, in that order."""
        with self._reading() as connection:
            key = _key(connection, user)
            if ids is None:
                rows = connection.execute(
                    "SELECT id, app, fields FROM items WHERE user = ? ORDER BY id", (key,)
                ).fetchall()
            else:
                query = "SELECT id, app, fields FROM items WHERE user = ? AND id IN ({})"
                rows = select_in(
                    connection, query, (key,), [check_unicode(item, "the item id") for item in ids]
                )
        items = parse_items(rows)
        if ids is None:
            return items
        by_id = {item.id: item for item in items}
        return [by_id[item] for item in ids if item in by_id]

    def delete_items(self, user: str, ids: Iterable[str]) -> int:
        """Delete items with their uses and vectors; return the number of items deleted."""
        with self._writing() as connection:
            key = _key(connection, user)
            has_vectors = _has_vectors(connection, key)

            def rows() -> Iterator[tuple[int, str]]:
                for item in ids:
                    check_unicode(item, "the item id")
                    if has_vectors:
                        _delete_vectors(connection, key, item)
                    yield key, item

            deleted = connection.executemany("DELETE FROM items WHERE user = ? AND id = ?", rows()).rowcount
            if deleted:
                _bump_revision(connection, key)
        return deleted

    def put_uses(self, user: str, uses: Iterable[UsageEvent], *, limit: int | None = None) -> int:
        """Record uses; return the number of new ones (a known item, time and place is ignored)."""
        item = ""
        with self._writing() as connection:
            key = _key(connection, user)

            def rows() -> Iterator[tuple[Any, ...]]:
                nonlocal item
                for use in uses:
                    item = use.item
                    yield use_row(key, use)

            with self._quota.within(connection, key, "uses", limit):
                try:
                    new = connection.executemany(_PUT_USE, rows()).rowcount
                except sqlite3.IntegrityError:
                    raise InvalidDataError(
                        f"a use of the unknown item {item!r} of user {user!r}: write the item first"
                    ) from None
                if new:
                    _bump_revision(connection, key, "uses_revision")
        return new

    def uses(self, user: str, *, item: str | None = None) -> list[UsageEvent]:
        """The user's uses of one item or of all, in order of the user's local time."""
        with self._reading() as connection:
            key = _key(connection, user)
            zone = connection.execute("SELECT zone FROM users WHERE key = ?", (key,)).fetchone()[0]
            query, values = "SELECT item, time, place FROM uses WHERE user = ?", [key]
            if item is not None:
                query, values = f"{query} AND item = ?", [key, check_unicode(item, "the item id")]
            rows = connection.execute(f"{query} ORDER BY item, moment, place", values).fetchall()
        local_zone = parse_zone(zone)
        return sorted(parse_uses(rows), key=lambda use: local_time(use.time, local_zone))

    def revision(self, user: str) -> StoreRevision:
        """Counters that grow with every change to the user's data, by any process."""
        query = "SELECT revision, uses_revision FROM users WHERE key = ?"
        with self._reading() as connection:
            return StoreRevision(*connection.execute(query, (_key(connection, user),)).fetchone())

    def vectors(self, user: str, model: str, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        """The stored vectors of these text digests for this model."""
        query = "SELECT digest, vector FROM vectors WHERE user = ? AND model = ? AND digest IN ({})"
        with self._reading() as connection:
            key = _key(connection, user)
            rows = select_in(connection, query, (key, check_unicode(model, "the model")), digests)
        return {digest: parse_vector(blob) for digest, blob in rows}

    def put_vectors(self, user: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors. The revision does not change."""
        check_unicode(model, "the model")
        with self._writing() as connection:
            key = _key(connection, user)
            rows = ((key, model, digest, vector_blob(vector)) for digest, vector in vectors.items())
            connection.executemany(_PUT_VECTOR, rows)

    def enriched_vectors(
        self, user: str, model: str, items: Sequence[str] | None = None
    ) -> dict[str, tuple[bytes, Vector]]:
        """By item: digest and vector of its enriched text for this model; of all items, or of `items`."""
        query = "SELECT item, digest, vector FROM portraits WHERE user = ? AND model = ?"
        with self._reading() as connection:
            values = _key(connection, user), check_unicode(model, "the model")
            if items is None:
                rows = connection.execute(query, values).fetchall()
            else:
                rows = select_in(connection, query + " AND item IN ({})", values, items)
        return {item: (digest, parse_vector(blob)) for item, digest, blob in rows}

    def put_enriched_vectors(
        self, user: str, model: str, vectors: Mapping[str, tuple[bytes, Vector]]
    ) -> None:
        """Store digests and vectors of enriched texts, replacing earlier ones; unknown items are ignored."""
        check_unicode(model, "the model")
        with self._writing() as connection:
            key = _key(connection, user)
            rows = (
                (key, item, model, digest, vector_blob(vector), key, item)
                for item, (digest, vector) in vectors.items()
            )
            connection.executemany(_PUT_PORTRAIT, rows)

    def put_feedback(self, user: str, feedback: Feedback) -> None:
        """Store feedback on a request."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO feedback (user, request, used, rejected, tool, ok) VALUES (?, ?, ?, ?, ?, ?)",
                feedback_row(_key(connection, user), feedback),
            )

    def feedback(self, user: str) -> list[Feedback]:
        """All feedback of the user, oldest first."""
        query = "SELECT request, used, rejected, tool, ok FROM feedback WHERE user = ? ORDER BY key"
        with self._reading() as connection:
            rows = connection.execute(query, (_key(connection, user),)).fetchall()
        return [parse_feedback(user, row) for row in rows]

    def forget(self, user: str) -> None:
        """Delete the user, and every trace of them in the store's files.

        The rows are deleted at once. Then the file is rewritten without them, which takes a while for a large
        store and waits for readers. If that fails, call `forget` again to continue.
        """
        digest = text_digest(check_unicode(user, "the user id"))
        with self._writing() as connection:
            if connection.execute("DELETE FROM users WHERE id = ?", (user,)).rowcount:
                connection.execute("INSERT INTO forgotten VALUES (?) ON CONFLICT DO NOTHING", (digest,))
            elif not connection.execute("SELECT 1 FROM forgotten WHERE digest = ?", (digest,)).fetchall():
                raise _unknown_user(user)
        try:
            self._rewrite()
        except StoreError as error:
            raise StoreError(
                f"the rows of user {user!r} are deleted, but their bytes may still be in the file; "
                f"call forget({user!r}) again to remove them. Reason: {error}"
            ) from error

    def _rewrite(self) -> None:
        """Rewrite the file without deleted rows, and empty the log."""
        with self._connection() as connection:
            # Read before VACUUM: a user forgotten meanwhile by another process may still be in the file.
            forgotten = connection.execute("SELECT digest FROM forgotten").fetchall()
            connection.execute("VACUUM")
            sqlite_file.truncate_wal(connection, self._timeout)
            connection.executemany("DELETE FROM forgotten WHERE digest = ?", forgotten)
            sqlite_file.truncate_wal(connection, self._timeout)


def _unknown_user(user: str) -> UnknownUserError:
    return UnknownUserError(f"unknown user {user!r}: add them with put_user, or load their data")


def _key(connection: sqlite3.Connection, user: str) -> int:
    rows = connection.execute(
        "SELECT key FROM users WHERE id = ?", (check_unicode(user, "the user id"),)
    ).fetchall()
    if not rows:
        raise _unknown_user(user)
    return rows[0][0]


def _bump_revision(
    connection: sqlite3.Connection, key: int, column: Literal["revision", "uses_revision"] = "revision"
) -> None:
    connection.execute("UPDATE counter SET revision = revision + 1")
    query = f"UPDATE users SET {column} = (SELECT revision FROM counter) WHERE key = ?"  # noqa: S608  # one of two names
    connection.execute(query, (key,))


def _has_vectors(connection: sqlite3.Connection, key: int) -> bool:
    query = "SELECT EXISTS (SELECT 1 FROM {} WHERE user = ?)"
    return any(
        connection.execute(query.format(table), (key,)).fetchone()[0] for table in ("vectors", "portraits")
    )


def _delete_vectors(connection: sqlite3.Connection, key: int, item: str, keep: str | None = None) -> None:
    """Delete the vectors of the item's stored text, unless it equals `keep`."""
    rows = connection.execute("SELECT id, app, fields FROM items WHERE user = ? AND id = ?", (key, item))
    for old in parse_items(rows.fetchall()):
        if old.text != keep:
            digest = text_digest(old.text)
            connection.execute("DELETE FROM vectors WHERE user = ? AND digest = ?", (key, digest))
            connection.execute("DELETE FROM portraits WHERE user = ? AND item = ?", (key, item))
