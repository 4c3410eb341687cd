"""SQL schema of the store, and its migrations."""

# ruff: noqa: S608  # statements are composed of the names below only

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from contextune.store.rows import row_checksum


@dataclass(frozen=True, slots=True)
class DatabaseSchema:
    """The kind of a SQLite file: its id and its migrations."""

    noun: str
    """Its name in messages."""
    application_id: int
    """Stored in the file's header, to recognize files of another kind or program."""
    migrations: tuple[tuple[str, ...], ...]
    """SQL statements of each version."""


def schema_version(connection: sqlite3.Connection) -> int:
    """Number of migrations applied to this file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, schema: DatabaseSchema) -> None:
    """Apply the missing migrations, each in its own transaction."""
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    while schema_version(connection) < len(schema.migrations):
        connection.execute("BEGIN IMMEDIATE")
        try:
            done = schema_version(connection)  # again, now with the lock: another process may be faster
            if done < len(schema.migrations):
                for statement in schema.migrations[done]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {schema.application_id}")
                connection.execute(f"PRAGMA user_version = {done + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


CHECKSUMS = {
    "users": "id, profile, places, contacts, zone",
    "items": "user, id, app, fields",
    "uses": "user, item, moment, place, time",
    "feedback": "user, request, used, rejected, tool, ok",
    "vectors": "user, digest, model, vector",
    "item_vectors": "user, item, digest, model, vector",
}
"""By table: the columns that its `checksum` covers. Part of a migration: a change needs another one."""

SIZES = {
    "items": ("item_bytes", "id, app, fields"),
    "uses": ("use_bytes", "item, moment, place, time"),
    "feedback": ("feedback_bytes", "request, used, rejected, tool"),
}
"""By table: the column of `sizes` with its bytes, and the columns these are counted in."""


def bytes_of(columns: str, row: str = "") -> str:
    """SQL expression: bytes of the values in these columns."""
    return " + ".join(f"ifnull(length(CAST({row}{name} AS BLOB)), 0)" for name in columns.split(", "))


def _add_checksums() -> Iterator[str]:
    for name, columns in CHECKSUMS.items():
        table = "portraits" if name == "item_vectors" else name  # renamed by the seventh migration
        yield f"ALTER TABLE {table} ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0"
        yield f"UPDATE {table} SET checksum = row_checksum({columns})"


def _add_sizes() -> Iterator[str]:
    """Count entries and bytes per user in a table of their own, kept by triggers."""
    yield """CREATE TABLE sizes (
        user INTEGER PRIMARY KEY REFERENCES users ON DELETE CASCADE,
        items INTEGER NOT NULL DEFAULT 0,
        uses INTEGER NOT NULL DEFAULT 0,
        feedback INTEGER NOT NULL DEFAULT 0,
        item_bytes INTEGER NOT NULL DEFAULT 0,
        use_bytes INTEGER NOT NULL DEFAULT 0,
        feedback_bytes INTEGER NOT NULL DEFAULT 0
    )"""
    yield "INSERT INTO sizes (user) SELECT key FROM users"
    yield """CREATE TRIGGER users_added AFTER INSERT ON users
        BEGIN INSERT INTO sizes (user) VALUES (new.key); END"""
    for table, (total, columns) in SIZES.items():
        old, new = bytes_of(columns, "old."), bytes_of(columns, "new.")
        yield (
            f"UPDATE sizes SET ({table}, {total}) = (SELECT count(*), ifnull(sum({bytes_of(columns)}), 0) "
            f"FROM {table} WHERE {table}.user = sizes.user)"
        )
        yield (
            f"CREATE TRIGGER {table}_added AFTER INSERT ON {table} BEGIN UPDATE sizes "
            f"SET {table} = {table} + 1, {total} = {total} + {new} WHERE user = new.user; END"
        )
        yield (
            f"CREATE TRIGGER {table}_removed AFTER DELETE ON {table} BEGIN UPDATE sizes "
            f"SET {table} = {table} - 1, {total} = {total} - ({old}) WHERE user = old.user; END"
        )
        yield (
            f"CREATE TRIGGER {table}_changed AFTER UPDATE OF {columns} ON {table} BEGIN UPDATE sizes "
            f"SET {total} = {total} - ({old}) + {new} WHERE user = new.user; END"
        )


STORE_SCHEMA = DatabaseSchema(
    "store",
    0x4354554E,  # "CTUN"
    (
        (
            # One row: a counter of the whole store, so that a user who comes back after `forget`
            # gets new revision numbers.
            "CREATE TABLE counter (revision INTEGER NOT NULL)",
            "INSERT INTO counter VALUES (0)",
            """CREATE TABLE users (
                key INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                profile TEXT NOT NULL,
                places TEXT NOT NULL,
                contacts TEXT NOT NULL,
                zone TEXT,
                revision INTEGER NOT NULL DEFAULT 0,
                uses_revision INTEGER NOT NULL DEFAULT 0
            )""",
            # Without rowid: one user's items are adjacent in the file, in reading order.
            """CREATE TABLE items (
                user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
                id TEXT NOT NULL,
                app TEXT NOT NULL,
                fields TEXT NOT NULL,
                PRIMARY KEY (user, id)
            ) WITHOUT ROWID""",
            # `time` is the original time; `moment` is the same in UTC, or unchanged if it has no zone, so
            # that an instant written in two zones is one use. `place` has no type and is x'' for "no place":
            # a key without rowid cannot be NULL, and '' is a valid place.
            """CREATE TABLE uses (
                user INTEGER NOT NULL,
                item TEXT NOT NULL,
                moment TEXT NOT NULL,
                place NOT NULL,
                time TEXT NOT NULL,
                PRIMARY KEY (user, item, moment, place),
                FOREIGN KEY (user, item) REFERENCES items ON DELETE CASCADE
            ) WITHOUT ROWID""",
            # With rowid: a vector is too long for a page of a table without. The digest comes before the
            # model because a deleted text is looked up for all models.
            """CREATE TABLE vectors (
                user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
                digest BLOB NOT NULL,
                model TEXT NOT NULL,
                vector BLOB NOT NULL,
                UNIQUE (user, digest, model)
            )""",
            # Digests of users whose rows are deleted, but whose bytes may still be in the file.
            "CREATE TABLE forgotten (digest BLOB PRIMARY KEY) WITHOUT ROWID",
        ),
        (
            # Vectors of enriched items; one for each model, replaced when the enriched text changes, and
            # deleted with the item.
            """CREATE TABLE portraits (
                user INTEGER NOT NULL,
                item TEXT NOT NULL,
                model TEXT NOT NULL,
                digest BLOB NOT NULL,
                vector BLOB NOT NULL,
                UNIQUE (user, item, model),
                FOREIGN KEY (user, item) REFERENCES items ON DELETE CASCADE
            )""",
            """CREATE TABLE feedback (
                key INTEGER PRIMARY KEY,
                user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
                request TEXT NOT NULL,
                used TEXT NOT NULL,
                rejected TEXT NOT NULL
            )""",
            "CREATE INDEX feedback_of_user ON feedback (user, key)",
        ),
        (
            "ALTER TABLE feedback ADD COLUMN tool TEXT",
            "ALTER TABLE feedback ADD COLUMN ok INTEGER NOT NULL DEFAULT 1",
        ),
        (
            *_add_checksums(),
            *_add_sizes(),
            "CREATE INDEX items_of_app ON items (user, app, id)",
            "CREATE INDEX uses_by_time ON uses (user, moment, item, place)",
        ),
        (
            # The revision in which each row was written, so that changes are read without the rest.
            *(
                f"ALTER TABLE {table} ADD COLUMN revision INTEGER NOT NULL DEFAULT 0"
                for table in ("items", "uses")
            ),
            "CREATE INDEX items_by_revision ON items (user, revision)",
            "CREATE INDEX uses_by_revision ON uses (user, revision)",
            "ALTER TABLE users ADD COLUMN user_revision INTEGER NOT NULL DEFAULT 0",
            # Changes are known after this revision: since the user was added, or since the oldest tombstone.
            "ALTER TABLE users ADD COLUMN known_since INTEGER NOT NULL DEFAULT 0",
            "UPDATE users SET user_revision = revision, known_since = max(revision, uses_revision)",
            # Deleted items, by digest: an id may contain personal data, and is not kept after the item.
            """CREATE TABLE tombstones (
                user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
                item BLOB NOT NULL,
                revision INTEGER NOT NULL,
                PRIMARY KEY (user, item)
            ) WITHOUT ROWID""",
            "CREATE INDEX tombstones_by_revision ON tombstones (user, revision)",
        ),
        (
            # The snapshot file of each user and model that may be read; see contextune.store.snapshots.
            """CREATE TABLE snapshots (
                user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
                model TEXT NOT NULL,
                digest BLOB NOT NULL,
                PRIMARY KEY (user, model)
            ) WITHOUT ROWID""",
        ),
        ("ALTER TABLE portraits RENAME TO item_vectors",),
    ),
)
