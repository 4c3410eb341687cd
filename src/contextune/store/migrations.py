"""Kinds of file, each with its tables as numbered steps: a version is the first so many, done in order.

A step that was released is never edited; a change to the tables is a new step at the end.
"""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """What a file is to hold."""

    noun: str
    """What it is called in messages."""
    application_id: int
    """Written into the file's header, so that no file of another kind or program is taken for one."""
    steps: tuple[tuple[str, ...], ...]


def version(connection: sqlite3.Connection) -> int:
    """How many steps this file has been through."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, kind: Kind) -> None:
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
