"""The tables of a store."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a file is to hold."""

    noun: str
    """What it is called in messages."""
    application_id: int
    """Written into the file's header, so that no file of another kind or program is taken for one."""
    steps: tuple[tuple[str, ...], ...]


def version(connection: sqlite3.Connection) -> int:
    """How many steps this file has been through."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, kind: FileKind) -> None:
    """Bring the file to the newest version, each step in a transaction of its own."""
    while version(connection) < len(kind.steps):
        connection.execute("BEGIN IMMEDIATE")
        try:
            done = version(connection)  # asked again under the lock: another process may have been faster
            if done < len(kind.steps):
                for statement in kind.steps[done]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {kind.application_id}")
                connection.execute(f"PRAGMA user_version = {done + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


STORE = FileKind(
    "store",
    0x4354554E,  # "CTUN"
    (
        (
            # One row. A counter of the whole store, so that a user who comes back after `forget`
            # goes on from numbers that nobody has seen yet.
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
            # Without rowid: one user's items lie side by side in the file, in the order they are read.
            """CREATE TABLE items (
                user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
                id TEXT NOT NULL,
                app TEXT NOT NULL,
                fields TEXT NOT NULL,
                PRIMARY KEY (user, id)
            ) WITHOUT ROWID""",
            # `time` is the time as given; `moment` is the same in UTC, or as given where it has no zone,
            # so that one instant written in two zones is one use. `place` has no type and holds x'' for
            # "no place": a key without rowid cannot hold NULL, and '' is a place somebody may have written.
            """CREATE TABLE uses (
                user INTEGER NOT NULL,
                item TEXT NOT NULL,
                moment TEXT NOT NULL,
                place NOT NULL,
                time TEXT NOT NULL,
                PRIMARY KEY (user, item, moment, place),
                FOREIGN KEY (user, item) REFERENCES items ON DELETE CASCADE
            ) WITHOUT ROWID""",
            # With rowid: a vector is too long for a page of a table without. The digest comes before
            # the model because a deleted text is looked up under all models.
            """CREATE TABLE vectors (
                user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
                digest BLOB NOT NULL,
                model TEXT NOT NULL,
                vector BLOB NOT NULL,
                UNIQUE (user, digest, model)
            )""",
            # Digests of users whose rows are deleted while their bytes may still be in the file.
            "CREATE TABLE forgotten (digest BLOB PRIMARY KEY) WITHOUT ROWID",
        ),
        (
            # An item's vector together with what is known around it; one for each model, replaced when
            # that changes, and gone with the item.
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
