"""SQL schema of the store, and its migrations."""

import sqlite3
from dataclasses import dataclass


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
    ),
)
