"""SQL statements of the PostgreSQL store, and queries of revisions and of what changed since one of them.

In statements, `%s` is the user's key, unless said otherwise.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contextune.store import statements as sqlite_statements
from contextune.store.protocol import StoreChanges, StoreRevision, text_digest
from contextune.store.rows import parse_items, parse_user, parse_uses

if TYPE_CHECKING:
    from contextune.store.postgres.connections import Connection

PUT_USER = """
    INSERT INTO users (id, profile, places, contacts, zone) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (id) DO UPDATE SET profile = excluded.profile, places = excluded.places,
    contacts = excluded.contacts, zone = excluded.zone RETURNING key"""
BUMP_USER = """
    UPDATE users SET revision = %(revision)s, user_revision = %(revision)s,
    known_since = CASE known_since WHEN 0 THEN %(revision)s ELSE known_since END WHERE key = %(key)s"""

# Unchanged items are not written, so that loading the same data twice changes nothing.
PUT_ITEMS = """
    INSERT INTO items AS old (owner, id, app, fields, revision)
    SELECT %s, id, app, fields, %s FROM unnest(%b::text[], %b::text[], %b::text[]) AS new (id, app, fields)
    ON CONFLICT (owner, id) DO UPDATE SET app = excluded.app, fields = excluded.fields,
    revision = excluded.revision
    WHERE (old.app, old.fields) IS DISTINCT FROM (excluded.app, excluded.fields)"""
ITEMS_SIZE = """
    SELECT count(*), coalesce(sum(octet_length(id) + octet_length(app) + octet_length(fields)), 0)
    FROM items WHERE owner = %s AND id = ANY(%b)"""
USES_SIZE = """
    SELECT count(*), coalesce(sum(octet_length(item) + octet_length(moment)
    + coalesce(octet_length(place), 0) + octet_length(time)), 0)
    FROM uses WHERE owner = %s AND item = ANY(%b)"""
PUT_USES = """
    WITH new AS (
        INSERT INTO uses (owner, item, moment, place, time, revision)
        SELECT %s, item, moment, place, time, %s
        FROM unnest(%b::text[], %b::text[], %b::text[], %b::text[]) AS new (item, moment, place, time)
        ON CONFLICT (owner, item, moment, place) DO NOTHING RETURNING item, moment, place, time
    ) SELECT count(*), coalesce(sum(octet_length(item) + octet_length(moment)
    + coalesce(octet_length(place), 0) + octet_length(time)), 0) FROM new"""
UNKNOWN_ITEMS = """
    SELECT id FROM unnest(%b::text[]) AS id
    WHERE NOT EXISTS (SELECT 1 FROM items WHERE owner = %s AND items.id = id.id) LIMIT 1"""

PUT_TOMBSTONES = """
    INSERT INTO tombstones (owner, item, revision) SELECT %s, item, %s FROM unnest(%b::bytea[]) AS item
    ON CONFLICT (owner, item) DO UPDATE SET revision = excluded.revision"""
OLDEST_TOMBSTONE = "SELECT revision FROM tombstones WHERE owner = %s ORDER BY revision DESC LIMIT 1 OFFSET %s"
# Each part is a range of an index (owner, revision).
CHANGES = """
    SELECT 'item', id, app, fields, NULL, NULL::bytea FROM items
    WHERE owner = %(key)s AND revision > %(since)s
    UNION ALL
    SELECT 'use', item, moment, place, time, NULL FROM uses WHERE owner = %(key)s AND revision > %(since)s
    UNION ALL
    SELECT 'deleted', NULL, NULL, NULL, NULL, item FROM tombstones
    WHERE owner = %(key)s AND revision > %(since)s"""

PUT_VECTORS = """
    INSERT INTO vectors (owner, digest, model, vector)
    SELECT %s, digest, %s, vector FROM unnest(%b::bytea[], %b::bytea[]) AS new (digest, vector)
    ON CONFLICT (owner, digest, model) DO UPDATE SET vector = excluded.vector"""
PUT_ITEM_VECTORS = """
    INSERT INTO item_vectors (owner, item, model, digest, vector)
    SELECT %(key)s, item, %(model)s, digest, vector
    FROM unnest(%(items)b::text[], %(digests)b::bytea[], %(vectors)b::bytea[]) AS new (item, digest, vector)
    WHERE EXISTS (SELECT 1 FROM items WHERE owner = %(key)s AND id = new.item)
    ON CONFLICT (owner, item, model) DO UPDATE SET digest = excluded.digest, vector = excluded.vector"""
PUT_FEEDBACK = """
    INSERT INTO feedback (owner, request, used, rejected, tool, ok) VALUES (%s, %s, %s, %s, %s, %s)"""
SIZES = """
    SELECT items, uses, feedback, item_bytes, use_bytes, feedback_bytes FROM users WHERE key = %s"""
HAS_VECTORS = """
    SELECT EXISTS (SELECT 1 FROM vectors WHERE owner = %(key)s)
    OR EXISTS (SELECT 1 FROM item_vectors WHERE owner = %(key)s)"""


def next_revision(connection: "Connection") -> int:
    """A new revision. Writers of a user have its lock, so the revisions of a user become visible in order."""
    return connection.execute("SELECT nextval('revision')").fetchall()[0][0]


def add_tombstones(connection: "Connection", key: int, items: Sequence[str], revision: int) -> None:
    """Note that these items are deleted by this transaction."""
    if not items:
        return
    digests = [text_digest(item) for item in items]
    connection.execute(PUT_TOMBSTONES, (key, revision, digests))
    oldest = connection.execute(OLDEST_TOMBSTONE, (key, sqlite_statements.MAX_TOMBSTONES)).fetchone()
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
    for kind, *values in connection.execute(CHANGES, {"key": key, "since": since.newest}):
        rows[kind].append(values)
    return StoreChanges(
        revision,
        parse_user(row[4:]) if user_revision > since.newest else None,
        parse_items([(name, app, fields, 0) for name, app, fields, *_ in rows["item"]]),
        frozenset(bytes(values[-1]) for values in rows["deleted"]),
        parse_uses([tuple(values) for values in rows["use"]]),
    )
