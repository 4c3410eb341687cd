"""Check the snapshots beside a SQLite file against the digests in the store and their own checksums."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from contextune.store.snapshots.files import snapshot_folder, snapshot_path
from contextune.store.snapshots.layout import SnapshotError, check_size, read_snapshot

_QUERY = "SELECT digest FROM snapshots JOIN users ON users.key = user WHERE users.id = ? AND model = ?"
_ALL = "SELECT users.id, model FROM snapshots JOIN users ON users.key = user ORDER BY user, model"


@dataclass(frozen=True, slots=True)
class SnapshotCheck:
    """How many snapshots there are, and those that cannot be used."""

    count: int = 0
    problems: tuple[str, ...] = ()
    """A file and what is wrong with it; file names are digests, without personal data."""

    @property
    def remedy(self) -> str:
        """What to do about the problems."""
        return (
            "snapshots are computed again at the next request, and nothing is lost; if it happens again, "
            "check the disk"
        )


def verify_snapshots(store: Path, connection: sqlite3.Connection, *, deep: bool = True) -> SnapshotCheck:
    """Check all snapshots of a store; unless `deep`, only their headers and sizes.

    `connection` must not be in a transaction: other processes may replace a snapshot meanwhile.
    """
    folder = snapshot_folder(store)
    exists = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'snapshots'").fetchone()
    if not exists or not folder.is_dir():
        return SnapshotCheck()
    count, problems = 0, list[str]()
    for user, model in connection.execute(_ALL).fetchall():
        path = snapshot_path(folder, user, model)
        if not path.exists():
            continue  # written when it is needed
        count += 1
        if problem := _problem(path, connection, user, model, deep):
            problems.append(f"{folder.name}/{path.name}: {problem}")
    return SnapshotCheck(count, tuple(problems))


def _problem(path: Path, connection: sqlite3.Connection, user: str, model: str, deep: bool) -> str:
    problem = ""
    for _ in range(2):  # another process may put a new one in its place between row and file
        row = connection.execute(_QUERY, (user, model)).fetchone()
        if row is None or not path.exists():
            return ""
        try:
            if deep:
                read_snapshot(path, row[0])
            else:
                check_size(path, row[0])
        except (SnapshotError, ValueError, LookupError, TypeError) as error:
            problem = str(error) if isinstance(error, SnapshotError) else type(error).__name__
        else:
            return ""
    return problem
