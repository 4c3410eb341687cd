"""SQL statements of the PostgreSQL store. `%s` is the user's key, unless said otherwise."""

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
