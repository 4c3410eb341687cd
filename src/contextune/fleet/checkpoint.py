"""Results of finished parts in a file, so that a killed run goes on where it was.

Parts are stored under digests of their keys: the file names no user. What a result holds is up to the work.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Self

from contextune.errors import ContextuneError

_FORMAT = 1


class Checkpoint:
    """The results of a run, in a SQLite file that one process at a time can open."""

    def __init__(self, path: Path | None = None, run: str = "") -> None:
        """Open or create the file at `path`, or keep results in memory without one.

        `run` identifies what is computed from which input; a file of another run is refused.
        """
        self.path = path
        if path:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(mode=0o600)
            except OSError as error:
                raise ContextuneError(f"{path}: the checkpoint cannot be written: {error.strerror}") from None
        self._connection = sqlite3.connect(path or ":memory:", timeout=0, isolation_level=None)
        try:
            self._open(self.digest(f"{_FORMAT}/{run}"))
        except sqlite3.OperationalError as error:
            self.close()
            if "locked" in str(error):
                raise ContextuneError(f"{path}: another run uses this checkpoint; wait for it") from None
            raise ContextuneError(f"{path}: the checkpoint cannot be used: {error}") from None
        except sqlite3.DatabaseError:
            self.close()
            raise ContextuneError(
                f"{path}: not a checkpoint, or a damaged one: delete it to start anew"
            ) from None
        except ContextuneError:
            self.close()
            raise

    def _open(self, run: bytes) -> None:
        connection = self._connection
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN EXCLUSIVE")  # the lock stays until the file is closed
        connection.execute("CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL)")
        connection.execute("CREATE TABLE IF NOT EXISTS parts (key BLOB PRIMARY KEY, content BLOB NOT NULL)")
        connection.execute("INSERT OR IGNORE INTO facts VALUES ('run', ?)", (run,))
        stored = connection.execute("SELECT value FROM facts WHERE name = 'run'").fetchone()[0]
        connection.execute("COMMIT")
        if stored != run:
            raise ContextuneError(
                f"{self.path}: the checkpoint of a run with other settings or input: delete it, or name "
                "another file with --checkpoint"
            )

    @staticmethod
    def digest(key: str) -> bytes:
        """What stands for a key in the file."""
        return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def fact(self, name: str, value: str) -> str:
        """The value of a fact of the run, such as its start: the one of its first process."""
        self._connection.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (f"fact {name}", value))
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (f"fact {name}",)).fetchone()
        return row[0]

    def put(self, key: str, content: bytes) -> None:
        """Keep the result of a part; the first one stays."""
        self._connection.execute("INSERT OR IGNORE INTO parts VALUES (?, ?)", (self.digest(key), content))

    def keys(self) -> frozenset[bytes]:
        """Digests of the keys of all finished parts."""
        return frozenset(row[0] for row in self._connection.execute("SELECT key FROM parts"))

    def contents(self, keys: Iterable[str]) -> Iterator[bytes]:
        """The results of these parts, in this order; parts without one are left out."""
        for key in keys:
            row = self._connection.execute(
                "SELECT content FROM parts WHERE key = ?", (self.digest(key),)
            ).fetchone()
            if row:
                yield row[0]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def remove(self) -> None:
        """Close and delete the file: the run is complete."""
        self.close()
        if self.path:
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
