"""Revisions of items and uses in SQLite, and what changed since one of them."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Literal

from contextune.store.protocol import StoreChanges, StoreRevision, text_digest
from contextune.store.rows import check_rows, parse_items, parse_user, parse_uses

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
