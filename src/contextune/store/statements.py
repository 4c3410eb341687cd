"""SQL statements that write rows, queries that several methods share, and pages of items and uses.

Pages are read with LIMIT and bounded in bytes.
"""

import sqlite3
from collections.abc import Iterable
from typing import Any

from contextune.errors import UnknownUserError
from contextune.store.protocol import Page, text_digest
from contextune.store.quota import stored_sizes
from contextune.store.rows import check_count, check_rows, check_unicode, parse_items, parse_uses
from contextune.types import Item, UsageEvent

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
