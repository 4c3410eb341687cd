"""`PostgresStore`: the store in PostgreSQL, shared by processes on several machines."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString, cast

from contextune.errors import InvalidDataError
from contextune.store.postgres import statements as sql
from contextune.store.postgres.connections import READ, WRITE, PostgresDatabase, check_text
from contextune.store.postgres.statements import add_tombstones, next_revision, read_changes
from contextune.store.protocol import Page, StoreChanges, StoreRevision, Vector, text_digest
from contextune.store.quota import NO_QUOTA, Quota, StoredSizes, check_item_size, check_quota
from contextune.store.rows import (
    feedback_row,
    item_row,
    log_unread_times,
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
from contextune.store.statements import next_page, take_items, unknown_user
from contextune.types import Feedback, Item, UsageEvent, User, local_time
from contextune.types.time_text import UnreadTimes

if TYPE_CHECKING:
    from contextune.store.postgres.connections import Connection

_BATCH = 2000
"""Rows that are sent in one statement."""


class PostgresStore(PostgresDatabase):
    """A store in a PostgreSQL database, named by a URL such as `postgresql://host/database`.

    Writers of one user wait for each other, up to `timeout` seconds; readers never wait. A write that exceeds
    the `quota` of its user raises `LimitError` and changes nothing. An iterable passed to a writing call is
    read completely before anything is written.
    """

    def __init__(
        self, url: str, *, timeout: float = 30.0, quota: Quota = NO_QUOTA, max_connections: int = 8
    ) -> None:
        super().__init__(url, timeout=timeout, max_connections=max_connections)
        self._quota = quota

    @contextmanager
    def _reading(self, user: str) -> Generator[tuple["Connection", int]]:
        """A snapshot of a user's data, and the user's key."""
        with self._transaction(READ, check_text(user, "the user id")) as connection:
            yield connection, _user_key(connection, user)

    @contextmanager
    def _writing(self, user: str) -> Generator[tuple["Connection", int]]:
        """A transaction that other writers of the user wait for, and the user's key."""
        with self._transaction(WRITE, check_text(user, "the user id")) as connection:
            yield connection, _user_key(connection, user, lock=True)

    def put_user(self, user: User) -> None:
        """Add or replace the user; items and uses stay."""
        *row, _ = user_row(user)
        with self._transaction(WRITE, check_text(user.id, "the user id")) as connection:
            key = _value(connection, sql.PUT_USER, row)
            connection.execute(sql.BUMP_USER, {"revision": next_revision(connection), "key": key})

    def user(self, user: str) -> User:
        """The user's profile, places, contacts and time zone."""
        with self._reading(user) as (connection, key):
            query = "SELECT id, profile, places, contacts, zone FROM users WHERE key = %s"
            return parse_user(connection.execute(query, (key,)).fetchall()[0])

    def users(self) -> list[str]:
        """The ids of all users, sorted."""
        with self._transaction(READ) as connection:
            connection.execute("SELECT set_config('contextune.list', 'ids', true)")
            return [row[0] for row in connection.execute("SELECT id FROM user_ids ORDER BY id").fetchall()]

    def put_items(self, user: str, items: Iterable[Item], *, limit: int | None = None) -> int:
        """Add or replace items; return the number written. More than `limit` raise `LimitError`.

        A field that is named like a time and cannot be read as one is logged, by application and field;
        `contextune.types.count_unread_times` counts them.
        """
        count, unread = 0, UnreadTimes()
        by_id: dict[str, tuple[Item, str]] = {}
        for count, item in enumerate(items, 1):  # noqa: B007  # returned below
            _, name, app, fields, _ = item_row(0, item)
            check_item_size(self._quota.item_bytes, check_text(name, "the item id"), app, fields)
            check_text(app, "the app")
            unread.add(item)
            by_id[name] = item, fields
        with self._writing(user) as (connection, key):
            revision, before = next_revision(connection), _sizes(connection, key)
            keeps_vectors = bool(_value(connection, sql.HAS_VECTORS, {"key": key}))
            changed = 0
            for batch in _batches(list(by_id)):
                old_count, old_bytes = _row(connection, sql.ITEMS_SIZE, (key, batch))
                if keeps_vectors and old_count:
                    _delete_vectors(connection, key, batch, {name: by_id[name][0].text for name in batch})
                values = batch, [by_id[name][0].app for name in batch], [by_id[name][1] for name in batch]
                changed += connection.execute(sql.PUT_ITEMS, (key, revision, *values)).rowcount
                new_count, new_bytes = _row(connection, sql.ITEMS_SIZE, (key, batch))
                _add_sizes(connection, key, items=new_count - old_count, item_bytes=new_bytes - old_bytes)
            items_limit = self._quota.items if limit is None else limit
            after = _sizes(connection, key)
            check_quota(before, after, items=items_limit, total_bytes=self._quota.total_bytes)
            if changed:
                connection.execute("UPDATE users SET revision = %s WHERE key = %s", (revision, key))
        log_unread_times(unread)
        return count

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:
        """The user's items, sorted by id; or those of `ids` that exist, in that order."""
        query = "SELECT id, app, fields FROM items WHERE owner = %s"
        with self._reading(user) as (connection, key):
            if ids is None:
                return parse_items(connection.execute(f"{query} ORDER BY id", (key,)).fetchall())
            names = [check_text(item, "the item id") for item in ids]
            rows = connection.execute(f"{query} AND id = ANY(%b)", (key, names)).fetchall()
        by_id = {item.id: item for item in parse_items(rows)}
        return [by_id[item] for item in ids if item in by_id]

    def items_page(
        self,
        user: str,
        *,
        app: str | None = None,
        start: int = 0,
        limit: int = 100,
        max_bytes: int | None = None,
    ) -> Page[Item]:
        """Items sorted by id, beginning at number `start`; fewer than `limit` if they exceed `max_bytes`."""
        where, values = "owner = %s", [0]
        if app is not None:
            where, values = "owner = %s AND app = %s", [0, check_text(app, "the app")]
        with self._reading(user) as (connection, key):
            values[0] = key
            total = _value(connection, f"SELECT count(*) FROM items WHERE {where}", values)  # noqa: S608  # fixed text
            query = f"SELECT id, app, fields FROM items WHERE {where} ORDER BY id LIMIT %s OFFSET %s"  # noqa: S608  # fixed text
            rows = take_items(connection.execute(query, (*values, limit, start)), max_bytes)
        return Page(parse_items(rows), total, next_page(start, len(rows), total))

    def delete_items(self, user: str, ids: Iterable[str]) -> int:
        """Delete items with their uses and vectors; return the number of items deleted."""
        names = list(dict.fromkeys(check_text(item, "the item id") for item in ids))
        deleted = 0
        with self._writing(user) as (connection, key):
            revision = next_revision(connection)
            keeps_vectors = bool(_value(connection, sql.HAS_VECTORS, {"key": key}))
            for batch in _batches(names):
                count, size = _row(connection, sql.ITEMS_SIZE, (key, batch))
                uses, use_bytes = _row(connection, sql.USES_SIZE, (key, batch))
                if keeps_vectors and count:
                    _delete_vectors(connection, key, batch, {})
                query = "DELETE FROM items WHERE owner = %s AND id = ANY(%b) RETURNING id"
                gone = [row[0] for row in connection.execute(query, (key, batch)).fetchall()]
                add_tombstones(connection, key, gone, revision)
                _add_sizes(connection, key, items=-count, item_bytes=-size, uses=-uses, use_bytes=-use_bytes)
                deleted += len(gone)
            if deleted:
                connection.execute("UPDATE users SET revision = %s WHERE key = %s", (revision, key))
        return deleted

    def put_uses(self, user: str, uses: Iterable[UsageEvent], *, limit: int | None = None) -> int:
        """Record uses; return the number of new ones (a known item, time and place is ignored)."""
        rows = [use_row(0, use)[1:5] for use in uses]
        for item, _, place, _ in rows:
            check_text(item, "the item id")
            check_text(place or "" if isinstance(place, str) else "", "the place")
        new = 0
        with self._writing(user) as (connection, key):
            revision, before = next_revision(connection), _sizes(connection, key)
            for batch in _batches(rows):
                columns = [list(column) for column in zip(*batch, strict=True)]
                columns[2] = [place if isinstance(place, str) else None for place in columns[2]]
                if unknown := connection.execute(sql.UNKNOWN_ITEMS, (columns[0], key)).fetchone():
                    raise InvalidDataError(
                        f"a use of the unknown item {unknown[0]!r} of user {user!r}: write the item first"
                    )
                count, size = _row(connection, sql.PUT_USES, (key, revision, *columns))
                _add_sizes(connection, key, uses=count, use_bytes=size)
                new += count
            uses_limit = self._quota.uses if limit is None else limit
            after = _sizes(connection, key)
            check_quota(before, after, uses=uses_limit, total_bytes=self._quota.total_bytes)
            if new:
                connection.execute("UPDATE users SET uses_revision = %s WHERE key = %s", (revision, key))
        return new

    def uses(self, user: str, *, item: str | None = None) -> list[UsageEvent]:
        """The user's uses of one item or of all, in order of the user's local time."""
        query = "SELECT item, moment, place, time, 0 FROM uses WHERE owner = %s"
        with self._reading(user) as (connection, key):
            zone = _value(connection, "SELECT zone FROM users WHERE key = %s", (key,))
            values: list[Any] = [key]
            if item is not None:
                query, values = f"{query} AND item = %s", [key, check_text(item, "the item id")]
            rows = connection.execute(f"{query} ORDER BY item, moment, place", values).fetchall()
        local_zone = parse_zone(zone)
        return sorted(parse_uses(rows), key=lambda use: local_time(use.time, local_zone))

    def uses_page(self, user: str, *, start: int = 0, limit: int = 100) -> Page[UsageEvent]:
        """Uses sorted by time, beginning at number `start`; a time without a zone is sorted as if in UTC."""
        query = """SELECT item, moment, place, time, 0 FROM uses WHERE owner = %s
            ORDER BY moment, item, place LIMIT %s OFFSET %s"""
        with self._reading(user) as (connection, key):
            rows = connection.execute(query, (key, limit, start)).fetchall()
            total = _sizes(connection, key).uses
        return Page(parse_uses(rows), total, next_page(start, len(rows), total))

    def sizes(self, user: str) -> StoredSizes:
        """Entries and bytes that the user has stored, without vectors and indexes."""
        with self._reading(user) as (connection, key):
            return _sizes(connection, key)

    def revision(self, user: str) -> StoreRevision:
        """Counters that grow with every change to the user's data, by any process."""
        query = "SELECT revision, uses_revision FROM users WHERE id = %s"
        rows = self._query("user", check_text(user, "the user id"), query, (user,))
        if not rows:
            raise unknown_user(user)
        return StoreRevision(*rows[0])

    def changes(self, user: str, since: StoreRevision) -> StoreChanges | None:
        """What changed since an earlier revision; None if the store no longer knows: then read everything."""
        with self._reading(user) as (connection, key):
            return read_changes(connection, key, since)

    def vectors(self, user: str, model: str, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        """The stored vectors of these text digests for this model."""
        query = "SELECT digest, vector FROM vectors WHERE owner = %s AND model = %s AND digest = ANY(%b)"
        result: dict[bytes, Vector] = {}
        with self._reading(user) as (connection, key):
            for batch in _batches(digests):
                values = key, check_text(model, "the model"), list(batch)
                rows = connection.execute(query, values, binary=True)
                result.update((digest, parse_vector(blob)) for digest, blob in rows)
        return result

    def vector_digests(self, user: str) -> dict[str, list[bytes]]:
        """By model: the text digests that have a stored vector; models of enriched vectors included."""
        query = "SELECT model, digest FROM vectors WHERE owner = %s"
        with self._reading(user) as (connection, key):
            models = connection.execute("SELECT DISTINCT model FROM item_vectors WHERE owner = %s", (key,))
            digests: dict[str, list[bytes]] = {model: [] for (model,) in models}
            for model, digest in connection.execute(query, (key,), binary=True):
                digests.setdefault(model, []).append(digest)
        return digests

    def put_vectors(self, user: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors. The revision does not change."""
        check_text(model, "the model")
        rows = [(digest, vector_blob(vector)) for digest, vector in vectors.items()]
        with self._writing(user) as (connection, key):
            for batch in _batches(rows):
                digests, blobs = (list(column) for column in zip(*batch, strict=True))
                connection.execute(sql.PUT_VECTORS, (key, model, digests, blobs))

    def enriched_vectors(
        self, user: str, model: str, items: Sequence[str] | None = None
    ) -> dict[str, tuple[bytes, Vector]]:
        """By item: digest and vector of its enriched text for this model; of all items, or of `items`."""
        query = "SELECT item, digest, vector FROM item_vectors WHERE owner = %s AND model = %s"
        with self._reading(user) as (connection, key):
            values: list[Any] = [key, check_text(model, "the model")]
            if items is not None:
                query, values = f"{query} AND item = ANY(%b)", [*values, list(items)]
            rows = connection.execute(query, values, binary=True).fetchall()
        return {item: (digest, parse_vector(blob)) for item, digest, blob in rows}

    def put_enriched_vectors(
        self, user: str, model: str, vectors: Mapping[str, tuple[bytes, Vector]]
    ) -> None:
        """Store digests and vectors of enriched texts, replacing earlier ones; unknown items are ignored."""
        check_text(model, "the model")
        rows = [(item, digest, vector_blob(vector)) for item, (digest, vector) in vectors.items()]
        with self._writing(user) as (connection, key):
            for batch in _batches(rows):
                items, digests, blobs = (list(column) for column in zip(*batch, strict=True))
                values = {"key": key, "model": model, "items": items, "digests": digests, "vectors": blobs}
                connection.execute(sql.PUT_ITEM_VECTORS, values)

    def put_feedback(self, user: str, feedback: Feedback) -> None:
        """Store feedback on a request."""
        _, *texts, tool, ok, _ = feedback_row(0, feedback)
        row = *texts, tool and check_text(tool, "the tool"), bool(ok)
        size = sum(len(text.encode()) for text in (*texts, tool or ""))
        with self._writing(user) as (connection, key):
            before = _sizes(connection, key)
            connection.execute(sql.PUT_FEEDBACK, (key, *row))
            _add_sizes(connection, key, feedback=1, feedback_bytes=size)
            limits = {"feedback_bytes": self._quota.feedback_bytes, "total_bytes": self._quota.total_bytes}
            check_quota(before, _sizes(connection, key), **limits)

    def feedback(self, user: str) -> list[Feedback]:
        """All feedback of the user, oldest first."""
        query = "SELECT request, used, rejected, tool, ok, 0 FROM feedback WHERE owner = %s ORDER BY key"
        with self._reading(user) as (connection, key):
            rows = connection.execute(query, (key,)).fetchall()
        return [parse_feedback(user, row) for row in rows]

    def forget(self, user: str) -> None:
        """Delete the user with all rows.

        The server keeps their bytes until it vacuums the tables, and in its write-ahead log and backups for
        as long as the operator keeps those: see docs/postgres.md.
        """
        with self._writing(user) as (connection, key):
            connection.execute("DELETE FROM users WHERE key = %s", (key,))


def _user_key(connection: "Connection", user: str, *, lock: bool = False) -> int:
    """The key of the user, whose rows are visible from now on; raises `UnknownUserError`."""
    query = "SELECT key, set_config('contextune.key', key::text, true) FROM users WHERE id = %s"
    if lock:
        connection.execute("SELECT 1 FROM users WHERE id = %s FOR UPDATE", (user,))
    row = connection.execute(query, (user,)).fetchone()
    if row is None:
        raise unknown_user(user)
    return row[0]


def _row(connection: "Connection", query: LiteralString, values: Any) -> tuple[int, int]:
    """The two numbers that a query returns."""
    row = connection.execute(query, values).fetchall()[0]
    return int(row[0]), int(row[1])


def _value(connection: "Connection", query: LiteralString, values: Any) -> Any:
    return connection.execute(query, values).fetchall()[0][0]


def _sizes(connection: "Connection", key: int) -> StoredSizes:
    return StoredSizes(*connection.execute(sql.SIZES, (key,)).fetchall()[0])


def _add_sizes(connection: "Connection", key: int, **added: int) -> None:
    names = cast("list[LiteralString]", list(added))
    columns = ", ".join(f"{name} = {name} + %s" for name in names)
    connection.execute(f"UPDATE users SET {columns} WHERE key = %s", (*added.values(), key))  # noqa: S608  # fixed names


def _delete_vectors(
    connection: "Connection", key: int, items: Sequence[str], keep: Mapping[str, str]
) -> None:
    """Delete the vectors of the items' stored texts, except for texts that stay, in `keep` by item."""
    query = "SELECT id, app, fields FROM items WHERE owner = %s AND id = ANY(%b)"
    old = parse_items(connection.execute(query, (key, items)).fetchall())
    gone = [item for item in old if item.text != keep.get(item.id)]
    digests = [text_digest(item.text) for item in gone]
    connection.execute("DELETE FROM vectors WHERE owner = %s AND digest = ANY(%b)", (key, digests))
    names = [item.id for item in gone]
    connection.execute("DELETE FROM item_vectors WHERE owner = %s AND item = ANY(%b)", (key, names))


def _batches(rows: Sequence[Any]) -> Iterator[Any]:
    return (rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH))
