"""Revisions in PostgreSQL, and what changed since one of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contextune.store import changes as limits
from contextune.store.postgres import statements as sql
from contextune.store.protocol import StoreChanges, StoreRevision, text_digest
from contextune.store.rows import parse_items, parse_user, parse_uses

if TYPE_CHECKING:
    from contextune.store.postgres.connections import Connection


def next_revision(connection: "Connection") -> int:
    """A new revision. Writers of a user have its lock, so the revisions of a user become visible in order."""
    return connection.execute("SELECT nextval('revision')").fetchall()[0][0]


def add_tombstones(connection: "Connection", key: int, items: Sequence[str], revision: int) -> None:
    """Note that these items are deleted by this transaction."""
    if not items:
        return
    digests = [text_digest(item) for item in items]
    connection.execute(sql.PUT_TOMBSTONES, (key, revision, digests))
    oldest = connection.execute(sql.OLDEST_TOMBSTONE, (key, limits.MAX_TOMBSTONES)).fetchone()
    if oldest:
        connection.execute("DELETE FROM tombstones WHERE owner = %s AND revision <= %s", (key, *oldest))
        connection.execute("UPDATE users SET known_since = %s WHERE key = %s", (*oldest, key))


def read_changes(connection: "Connection", key: int, since: StoreRevision) -> StoreChanges | None:
    """What changed for a user since a revision, in one query; None if not all of it is known."""
    query = """SELECT revision, uses_revision, user_revision, known_since,
        id, profile, places, contacts, zone FROM users WHERE key = %s"""
    row = connection.execute(query, (key,)).fetchall()[0]
    revision, user_revision, known_since = StoreRevision(row[0], row[1]), row[2], row[3]
    if not known_since <= since.newest <= revision.newest:
        return None
    rows: dict[str, list[Any]] = {"item": [], "use": [], "deleted": []}
    for kind, *values in connection.execute(sql.CHANGES, {"key": key, "since": since.newest}):
        rows[kind].append(values)
    return StoreChanges(
        revision,
        parse_user(row[4:]) if user_revision > since.newest else None,
        parse_items([(name, app, fields, 0) for name, app, fields, *_ in rows["item"]]),
        frozenset(bytes(values[-1]) for values in rows["deleted"]),
        parse_uses([tuple(values) for values in rows["use"]]),
    )
