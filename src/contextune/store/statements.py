"""SQL statements that write rows, and queries that several methods of the store share."""

import sqlite3

from contextune.errors import UnknownUserError
from contextune.store.protocol import text_digest
from contextune.store.rows import check_unicode, parse_items

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
