"""SQL statements and queries that several methods of the SQLite store share.

They write rows, read pages of items and uses with LIMIT and bounded in bytes, and tell what changed since a
revision.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from contextune.errors import UnknownUserError
from contextune.store.protocol import Page, StoreChanges, StoreRevision, text_digest
from contextune.store.quota import stored_sizes
from contextune.store.rows import check_count, check_rows, check_unicode, parse_items, parse_user, parse_uses
from contextune.types import Item, UsageEvent

MAX_TOMBSTONES = 10_000
"""Of one user; older ones are dropped, and whoever has not seen them reads all items again."""

# Each part is a range of an index (user, revision).
CHANGES = """
    SELECT 'item', id, app, fields, NULL, checksum FROM items WHERE user = :user AND revision > :since
    UNION ALL
    SELECT 'use', item, moment, place, time, checksum FROM uses WHERE user = :user AND revision > :since
    UNION ALL
    SELECT 'deleted', item, NULL, NULL, NULL, NULL FROM tombstones WHERE user = :user AND revision > :since"""

_PUT_TOMBSTONE = """
    INSERT INTO tombstones (user, item, revision) SELECT ?, ?, ?
    WHERE EXISTS (SELECT 1 FROM items WHERE user = ? AND id = ?)
    ON CONFLICT (user, item) DO UPDATE SET revision = excluded.revision"""
_OLDEST_KEPT = """
    SELECT revision FROM tombstones WHERE user = ? ORDER BY revision DESC LIMIT 1 OFFSET ?"""
# Unchanged items are not written, so that loading the same data twice changes nothing.
PUT_ITEM = """
    INSERT INTO items (user, id, app, fields, checksum, revision) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (user, id) DO UPDATE SET app = excluded.app, fields = excluded.fields,
    checksum = excluded.checksum, revision = excluded.revision
    WHERE app IS NOT excluded.app OR fields IS NOT excluded.fields"""

PUT_USER = """
    INSERT INTO users (id, profile, places, contacts, zone, checksum) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET profile = excluded.profile, places = excluded.places,
    contacts = excluded.contacts, zone = excluded.zone, checksum = excluded.checksum"""

PUT_USE = """
    INSERT INTO uses (user, item, moment, place, time, checksum, revision) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (user, item, moment, place) DO NOTHING"""

PUT_VECTOR = """
    INSERT INTO vectors (user, digest, model, vector, checksum) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (user, digest, model) DO UPDATE SET vector = excluded.vector, checksum = excluded.checksum"""
PUT_ITEM_VECTOR = """
    INSERT INTO item_vectors (user, item, digest, model, vector, checksum)
    SELECT ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM items WHERE user = ? AND id = ?)
    ON CONFLICT (user, item, model) DO UPDATE SET digest = excluded.digest, vector = excluded.vector,
    checksum = excluded.checksum"""
PUT_FEEDBACK = """
    INSERT INTO feedback (user, request, used, rejected, tool, ok, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)"""


def next_revision(connection: sqlite3.Connection) -> int:
    """The revision that `bump_revision` gives to the changes of this transaction."""
    return int(connection.execute("SELECT revision + 1 FROM counter").fetchone()[0])


def bump_revision(
    connection: sqlite3.Connection,
    key: int,
    column: Literal["revision", "uses_revision", "user_revision"] = "revision",
) -> None:
    """Give the user a new revision, so that other processes notice the change."""
    connection.execute("UPDATE counter SET revision = revision + 1")
    columns = ("revision", "user_revision") if column == "user_revision" else (column,)
    for name in columns:
        query = f"UPDATE users SET {name} = (SELECT revision FROM counter) WHERE key = ?"  # noqa: S608  # one of three names
        connection.execute(query, (key,))
    # a new user: nothing is known of one who had this id before and was forgotten
    connection.execute(
        "UPDATE users SET known_since = user_revision WHERE key = ? AND known_since = 0", (key,)
    )


def add_tombstones(connection: sqlite3.Connection, key: int, items: Sequence[str]) -> None:
    """Note that these items are deleted by this transaction; unknown ones are ignored."""
    revision = next_revision(connection)
    rows = ((key, text_digest(item), revision, key, item) for item in items)
    connection.executemany(_PUT_TOMBSTONE, rows)
    oldest = connection.execute(_OLDEST_KEPT, (key, MAX_TOMBSTONES)).fetchone()
    if oldest:
        connection.execute("DELETE FROM tombstones WHERE user = ? AND revision <= ?", (key, *oldest))
        connection.execute("UPDATE users SET known_since = ? WHERE key = ?", (*oldest, key))


def read_changes(connection: sqlite3.Connection, key: int, since: StoreRevision) -> StoreChanges | None:
    """What changed for a user since a revision, in one query; None if not all of it is known."""
    query = """SELECT revision, uses_revision, user_revision, known_since,
        id, profile, places, contacts, zone, checksum FROM users WHERE key = ?"""
    *revisions, user_revision, known_since = (row := connection.execute(query, (key,)).fetchone())[:4]
    revision = StoreRevision(*revisions)
    if not known_since <= since.newest <= revision.newest:
        return None
    rows: dict[str, list[Any]] = {"item": [], "use": [], "deleted": []}
    for kind, *values in connection.execute(CHANGES, {"user": key, "since": since.newest}):
        rows[kind].append(values)
    items = [(name, app, fields, checksum) for name, app, fields, _, checksum in rows["item"]]
    uses = [tuple(values) for values in rows["use"]]
    check_rows("items", items, key)
    check_rows("uses", uses, key)
    user = None
    if user_revision > since.newest:
        check_rows("users", [row[4:]])
        user = parse_user(row[4:])
    deleted = frozenset(values[0] for values in rows["deleted"])
    return StoreChanges(revision, user, parse_items(items), deleted, parse_uses(uses))


def unknown_user(user: str) -> UnknownUserError:
    """The error for a user whom the store does not have."""
    return UnknownUserError(f"unknown user {user!r}: add them with put_user, or load their data")


def user_key(connection: sqlite3.Connection, user: str) -> int:
    """The key of the user in all tables; raises `UnknownUserError`."""
    rows = connection.execute(
        "SELECT key FROM users WHERE id = ?", (check_unicode(user, "the user id"),)
    ).fetchall()
    if not rows:
        raise unknown_user(user)
    return rows[0][0]


def has_vectors(connection: sqlite3.Connection, key: int) -> bool:
    """Whether any vector of the user is stored."""
    query = "SELECT EXISTS (SELECT 1 FROM {} WHERE user = ?)"
    return any(
        connection.execute(query.format(table), (key,)).fetchone()[0] for table in ("vectors", "item_vectors")
    )


def delete_vectors(connection: sqlite3.Connection, key: int, item: str, keep: str | None = None) -> None:
    """Delete the vectors of the item's stored text, unless it equals `keep`."""
    query = "SELECT id, app, fields, checksum FROM items WHERE user = ? AND id = ?"
    for old in parse_items(connection.execute(query, (key, item)).fetchall()):
        if old.text != keep:
            digest = text_digest(old.text)
            connection.execute("DELETE FROM vectors WHERE user = ? AND digest = ?", (key, digest))
            connection.execute("DELETE FROM item_vectors WHERE user = ? AND item = ?", (key, item))


def items_page(
    connection: sqlite3.Connection, key: int, app: str | None, start: int, limit: int, max_bytes: int | None
) -> Page[Item]:
    """Items sorted by id, beginning at number `start`; fewer than `limit` if they exceed `max_bytes`."""
    where, values = "user = ?", [key]
    total = stored_sizes(connection, key).items
    if app is not None:
        where, values = "user = ? AND app = ?", [key, app]
        total = connection.execute(f"SELECT count(*) FROM items WHERE {where}", values).fetchone()[0]  # noqa: S608  # fixed text
    query = f"SELECT id, app, fields, checksum FROM items WHERE {where} ORDER BY id LIMIT ? OFFSET ?"  # noqa: S608  # fixed text
    rows = take_items(connection.execute(query, (*values, limit, start)), max_bytes)
    check_rows("items", rows, key)
    check_count("items", len({row[0] for row in rows}), len(rows))
    return Page(parse_items(rows), total, next_page(start, len(rows), total))


def take_items(rows: Iterable[Any], max_bytes: int | None) -> list[Any]:
    """Rows of items (id, app, fields, …) until their fields exceed `max_bytes`, but at least one."""
    taken: list[Any] = []
    size = 0
    for row in rows:
        size += len(row[2].encode())
        if max_bytes is not None and size > max_bytes and taken:
            break
        taken.append(row)
    return taken


def uses_page(connection: sqlite3.Connection, key: int, start: int, limit: int) -> Page[UsageEvent]:
    """Uses sorted by time, beginning at number `start`; a time without a zone is sorted as if in UTC."""
    query = """SELECT item, moment, place, time, checksum FROM uses WHERE user = ?
        ORDER BY moment, item, place LIMIT ? OFFSET ?"""
    rows = connection.execute(query, (key, limit, start)).fetchall()
    check_rows("uses", rows, key)
    check_count("uses", len({row[:3] for row in rows}), len(rows))
    total = stored_sizes(connection, key).uses
    return Page(parse_uses(rows), total, next_page(start, len(rows), total))


def next_page(start: int, count: int, total: int) -> int | None:
    """Where the page after `count` entries from `start` begins; None if there is none."""
    return start + count if count and start + count < total else None
