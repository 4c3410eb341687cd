"""`SQLiteStore`: one SQLite file, safe for many threads and processes."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextune.errors import ErasureIncompleteError, InvalidDataError, StoreError
from contextune.store import sqlite_file
from contextune.store.database import Database, select_in
from contextune.store.full_disk import DiskReserve, deletion_steps, is_full
from contextune.store.protocol import Page, StoreChanges, StoreRevision, Vector, text_digest
from contextune.store.quota import NO_QUOTA, Quota, StoredSizes, check_item_size, stored_sizes, within_quota
from contextune.store.rows import (
    check_count,
    check_rows,
    check_unicode,
    feedback_row,
    item_row,
    log_unread_times,
    parse_feedback,
    parse_items,
    parse_user,
    parse_uses,
    parse_vector,
    parse_zone,
    row_checksum,
    use_row,
    user_row,
    vector_blob,
)
from contextune.store.schema import STORE_SCHEMA
from contextune.store.snapshots.files import SnapshotFiles
from contextune.store.sqlite_file import rewrite_progress
from contextune.store.statements import (
    PUT_FEEDBACK,
    PUT_ITEM,
    PUT_ITEM_VECTOR,
    PUT_USE,
    PUT_USER,
    PUT_VECTOR,
    add_tombstones,
    bump_revision,
    delete_vectors,
    has_vectors,
    items_page,
    next_revision,
    read_changes,
    unknown_user,
    user_key,
    uses_page,
)
from contextune.types import Feedback, Item, Progress, UsageEvent, User, local_time
from contextune.types.time_text import UnreadTimes


class SQLiteStore(Database):
    """A store in one SQLite file, with a write-ahead log beside it while it is open.

    Writers wait for each other, up to `timeout` seconds; readers never wait. An iterable passed to a writing
    call is consumed while the store is locked for other writers, so it should be fast. A write that exceeds
    the `quota` of its user raises `LimitError` and changes nothing.

    Without `snapshots`, nothing that was computed for users is kept beside the file, and opening a large
    store takes longer.
    """

    def __init__(
        self, path: str | Path, *, timeout: float = 30.0, quota: Quota = NO_QUOTA, snapshots: bool = True
    ) -> None:
        super().__init__(path, STORE_SCHEMA, timeout)
        self._quota = quota
        self._reserve = DiskReserve(self.path.parent)
        self.snapshots = SnapshotFiles(self.path, self._reading, self._writing, enabled=snapshots)

    def close(self) -> None:
        """Close all connections to the file."""
        self.snapshots.close()
        super().close()
        self._reserve.release()

    def put_user(self, user: User) -> None:
        """Add or replace the user; items and uses stay."""
        row = user_row(user)
        with self._writing() as connection:
            connection.execute(PUT_USER, row)
            self.snapshots.erase(connection, user.id)
            bump_revision(connection, user_key(connection, user.id), "user_revision")

    def user(self, user: str) -> User:
        """The user's profile, places, contacts and time zone."""
        with self._reading() as connection:
            key = user_key(connection, user)
            query = "SELECT id, profile, places, contacts, zone, checksum FROM users WHERE key = ?"
            row = connection.execute(query, (key,)).fetchone()
            check_rows("users", [row])
        return parse_user(row)

    def users(self) -> list[str]:
        """The ids of all users, sorted."""
        with self._reading() as connection:
            return [row[0] for row in connection.execute("SELECT id FROM users ORDER BY id").fetchall()]

    def put_items(self, user: str, items: Iterable[Item], *, limit: int | None = None) -> int:
        """Add or replace items; return the number written. More than `limit` raise `LimitError`.

        A field that is named like a time and cannot be read as one is logged, by application and field;
        `contextune.types.count_unread_times` counts them.
        """
        count = 0
        unread = UnreadTimes()
        with self._writing() as connection:
            key = user_key(connection, user)
            keeps_vectors, revision = has_vectors(connection, key), next_revision(connection)

            def rows() -> Iterator[tuple[Any, ...]]:
                nonlocal count
                for count, item in enumerate(items, 1):  # noqa: B007  # returned below
                    row = item_row(key, item)
                    check_item_size(self._quota.item_bytes, *row[1:4])
                    unread.add(item)
                    if keeps_vectors:
                        delete_vectors(connection, key, item.id, keep=item.text)
                    yield *row, revision

            items_limit = self._quota.items if limit is None else limit
            before = stored_sizes(connection, key).items
            with within_quota(connection, key, items=items_limit, total_bytes=self._quota.total_bytes):
                if written := connection.executemany(PUT_ITEM, rows()).rowcount:
                    bump_revision(connection, key)
                    if stored_sizes(connection, key).items - before < written:  # some were replaced
                        self.snapshots.erase(connection, user)
        log_unread_times(unread)
        return count

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:
        """The user's items, sorted by id; or those of `ids` that exist, in that order."""
        with self._reading() as connection:
            key = user_key(connection, user)
            query = "SELECT id, app, fields, checksum FROM items WHERE user = ?"
            if ids is None:
                rows = connection.execute(f"{query} ORDER BY id", (key,)).fetchall()
                check_count("items", len({row[0] for row in rows}), stored_sizes(connection, key).items)
            else:
                names = [check_unicode(item, "the item id") for item in ids]
                rows = select_in(connection, f"{query} AND id IN ({{}})", (key,), names)
            check_rows("items", rows, key)
        items = parse_items(rows)
        if ids is None:
            return items
        by_id = {item.id: item for item in items}
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
        with self._reading() as connection:
            return items_page(connection, user_key(connection, user), app, start, limit, max_bytes)

    def delete_items(self, user: str, ids: Iterable[str]) -> int:
        """Delete items with their uses and vectors; return the number of items deleted.

        All or none; on a full disk one after the other.
        """
        names = [check_unicode(item, "the item id") for item in ids]
        try:
            return self._delete_items(user, names)
        except StoreError as error:
            if not is_full(error):
                raise
        deleted = 0
        with self._reserve.released():
            for name in names:
                self._delete_in_steps(user, name)
                deleted += self._delete_items(user, [name])
            self._empty_log()
        return deleted

    def _delete_items(self, user: str, names: Sequence[str]) -> int:
        with self._writing() as connection:
            key = user_key(connection, user)
            if has_vectors(connection, key):
                for name in names:
                    delete_vectors(connection, key, name)
            add_tombstones(connection, key, names)
            rows = ((key, name) for name in names)
            deleted = connection.executemany("DELETE FROM items WHERE user = ? AND id = ?", rows).rowcount
            if deleted:
                bump_revision(connection, key)
                self.snapshots.erase(connection, user)
        return deleted

    def _delete_in_steps(self, user: str, item: str | None = None) -> None:
        """Delete what belongs to the item, or all items of the user, emptying the log after each step."""
        for statement in deletion_steps(item):
            deleted = 1
            while deleted:
                self._empty_log()
                with self._writing() as connection:
                    self.snapshots.erase(connection, user)
                    values = {"user": user_key(connection, user), "item": item}
                    deleted = connection.execute(statement, values).rowcount
        self._empty_log()

    def _empty_log(self) -> None:
        with self._connection() as connection:
            sqlite_file.truncate_wal(connection, self._timeout)

    def put_uses(self, user: str, uses: Iterable[UsageEvent], *, limit: int | None = None) -> int:
        """Record uses; return the number of new ones (a known item, time and place is ignored)."""
        item = ""
        with self._writing() as connection:
            key, revision = user_key(connection, user), next_revision(connection)

            def rows() -> Iterator[tuple[Any, ...]]:
                nonlocal item
                for use in uses:
                    item = use.item
                    yield *use_row(key, use), revision

            uses_limit = self._quota.uses if limit is None else limit
            with within_quota(connection, key, uses=uses_limit, total_bytes=self._quota.total_bytes):
                try:
                    new = connection.executemany(PUT_USE, rows()).rowcount
                except sqlite3.IntegrityError:
                    raise InvalidDataError(
                        f"a use of the unknown item {item!r} of user {user!r}: write the item first"
                    ) from None
                if new:
                    bump_revision(connection, key, "uses_revision")
        return new

    def uses(self, user: str, *, item: str | None = None) -> list[UsageEvent]:
        """The user's uses of one item or of all, in order of the user's local time."""
        with self._reading() as connection:
            key = user_key(connection, user)
            zone = connection.execute("SELECT zone FROM users WHERE key = ?", (key,)).fetchone()[0]
            query, values = "SELECT item, moment, place, time, checksum FROM uses WHERE user = ?", [key]
            if item is not None:
                query, values = f"{query} AND item = ?", [key, check_unicode(item, "the item id")]
            rows = connection.execute(f"{query} ORDER BY item, moment, place", values).fetchall()
            check_rows("uses", rows, key)
            if item is None:
                check_count("uses", len({row[:3] for row in rows}), stored_sizes(connection, key).uses)
        local_zone = parse_zone(zone)
        return sorted(parse_uses(rows), key=lambda use: local_time(use.time, local_zone))

    def uses_page(self, user: str, *, start: int = 0, limit: int = 100) -> Page[UsageEvent]:
        """Uses sorted by time, beginning at number `start`; a time without a zone is sorted as if in UTC."""
        with self._reading() as connection:
            return uses_page(connection, user_key(connection, user), start, limit)

    def sizes(self, user: str) -> StoredSizes:
        """Entries and bytes that the user has stored, without vectors and indexes."""
        with self._reading() as connection:
            return stored_sizes(connection, user_key(connection, user))

    def revision(self, user: str) -> StoreRevision:
        """Counters that grow with every change to the user's data, by any process."""
        query = "SELECT revision, uses_revision FROM users WHERE key = ?"
        with self._reading() as connection:
            return StoreRevision(*connection.execute(query, (user_key(connection, user),)).fetchone())

    def changes(self, user: str, since: StoreRevision) -> StoreChanges | None:
        """What changed since an earlier revision; None if the store no longer knows: then read everything."""
        with self._reading() as connection:
            return read_changes(connection, user_key(connection, user), since)

    def vectors(self, user: str, model: str, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        """The stored vectors of these text digests for this model."""
        query = "SELECT digest, vector, checksum FROM vectors WHERE user = ? AND model = ? AND digest IN ({})"
        with self._reading() as connection:
            key = user_key(connection, user)
            rows = select_in(connection, query, (key, check_unicode(model, "the model")), digests)
        return {
            digest: parse_vector(blob)
            for digest, blob, checksum in rows
            if row_checksum(key, digest, model, blob) == checksum  # a damaged vector is computed again
        }

    def vector_digests(self, user: str) -> dict[str, list[bytes]]:
        """By model: the text digests that have a stored vector; models of enriched vectors included."""
        query = "SELECT model, digest FROM vectors WHERE user = ?"
        with self._reading() as connection:
            key = user_key(connection, user)
            models = connection.execute("SELECT DISTINCT model FROM item_vectors WHERE user = ?", (key,))
            digests: dict[str, list[bytes]] = {model: [] for (model,) in models}
            for model, digest in connection.execute(query, (key,)):
                digests.setdefault(model, []).append(digest)
        return digests

    def put_vectors(self, user: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors. The revision does not change."""
        check_unicode(model, "the model")
        with self._writing() as connection:
            key = user_key(connection, user)
            rows = ((key, digest, model, vector_blob(vector)) for digest, vector in vectors.items())
            connection.executemany(PUT_VECTOR, ((*row, row_checksum(*row)) for row in rows))

    def enriched_vectors(
        self, user: str, model: str, items: Sequence[str] | None = None
    ) -> dict[str, tuple[bytes, Vector]]:
        """By item: digest and vector of its enriched text for this model; of all items, or of `items`."""
        query = "SELECT item, digest, vector, checksum FROM item_vectors WHERE user = ? AND model = ?"
        with self._reading() as connection:
            key = user_key(connection, user)
            values = key, check_unicode(model, "the model")
            if items is None:
                rows = connection.execute(query, values).fetchall()
            else:
                rows = select_in(connection, query + " AND item IN ({})", values, items)
        return {
            item: (digest, parse_vector(blob))
            for item, digest, blob, checksum in rows
            if row_checksum(key, item, digest, model, blob) == checksum
        }

    def put_enriched_vectors(
        self, user: str, model: str, vectors: Mapping[str, tuple[bytes, Vector]]
    ) -> None:
        """Store digests and vectors of enriched texts, replacing earlier ones; unknown items are ignored."""
        check_unicode(model, "the model")
        with self._writing() as connection:
            key = user_key(connection, user)
            rows = (
                (key, item, digest, model, vector_blob(vector)) for item, (digest, vector) in vectors.items()
            )
            connection.executemany(PUT_ITEM_VECTOR, ((*row, row_checksum(*row), *row[:2]) for row in rows))

    def put_feedback(self, user: str, feedback: Feedback) -> None:
        """Store feedback on a request."""
        with self._writing() as connection:
            key = user_key(connection, user)
            limits = {"feedback_bytes": self._quota.feedback_bytes, "total_bytes": self._quota.total_bytes}
            with within_quota(connection, key, **limits):
                connection.execute(PUT_FEEDBACK, feedback_row(key, feedback))

    def feedback(self, user: str) -> list[Feedback]:
        """All feedback of the user, oldest first."""
        query = "SELECT request, used, rejected, tool, ok, checksum FROM feedback WHERE user = ? ORDER BY key"
        with self._reading() as connection:
            key = user_key(connection, user)
            rows = connection.execute(query, (key,)).fetchall()
            check_rows("feedback", rows, key)
            check_count("feedback", len(rows), stored_sizes(connection, key).feedback)
        return [parse_feedback(user, row) for row in rows]

    def forget(self, user: str, *, progress: Progress | None = None) -> None:
        """Delete the user, and every trace of them in the store's files.

        The rows are deleted at once. Then the file is rewritten without them, which takes a while for a large
        store and waits for readers. If that fails, call `forget` again to continue. `progress` is called with
        the bytes rewritten, also from another thread.
        """
        check_unicode(user, "the user id")
        try:
            self._delete_user(user)
        except StoreError as error:
            if not is_full(error):
                raise
            with self._reserve.released():
                self._delete_in_steps(user)
                self._delete_user(user)
                self._empty_log()
        try:
            with self._reserve.released():
                self._rewrite(progress)
        except StoreError as error:
            raise ErasureIncompleteError(
                f"the rows of user {user!r} are deleted, but their bytes may still be in the file; "
                f"call forget({user!r}) again to remove them. Reason: {error}"
            ) from error

    def _delete_user(self, user: str) -> None:
        digest = text_digest(user)
        with self._writing() as connection:
            self.snapshots.erase(connection, user)
            if connection.execute("DELETE FROM users WHERE id = ?", (user,)).rowcount:
                connection.execute("INSERT INTO forgotten VALUES (?) ON CONFLICT DO NOTHING", (digest,))
            elif not connection.execute("SELECT 1 FROM forgotten WHERE digest = ?", (digest,)).fetchall():
                raise unknown_user(user)

    def _rewrite(self, progress: Progress | None) -> None:
        """Rewrite the file without deleted rows, and empty the log."""
        with self._connection() as connection:
            # Read before VACUUM: a user forgotten meanwhile by another process may still be in the file.
            forgotten = connection.execute("SELECT digest FROM forgotten").fetchall()
            with rewrite_progress(connection, self.path, progress):
                connection.execute("VACUUM")
            sqlite_file.truncate_wal(connection, self._timeout)
            connection.executemany("DELETE FROM forgotten WHERE digest = ?", forgotten)
            sqlite_file.truncate_wal(connection, self._timeout)
