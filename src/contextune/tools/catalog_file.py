"""Where a catalogue is kept from one run to the next: one SQLite file of tools and of their vectors."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.errors import InvalidDataError, StoreError
from contextune.store import text_digest
from contextune.store.database import Database, select_in
from contextune.store.rows import checked, vector_blob, vector_from
from contextune.store.schema import FileKind
from contextune.tools.catalog import Catalog, RefusedTool
from contextune.tools.loaders.jsonl import tool_json
from contextune.tools.tool_text import tool_text
from contextune.types import Annotations, Tool

CATALOG_FILE = FileKind(
    "catalogue",
    0x43545453,  # "CTTS"
    (
        (
            "CREATE TABLE sources (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
            # `place` is the order tools came in, which a tool keeps when it changes
            """CREATE TABLE tools (
                place INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                app TEXT NOT NULL,
                source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
                body TEXT NOT NULL
            )""",
            "CREATE INDEX tools_of_source ON tools (source)",
            # as in a store, a vector is too long for a page of a table without rowid
            """CREATE TABLE vectors (
                digest BLOB NOT NULL,
                model TEXT NOT NULL,
                vector BLOB NOT NULL,
                UNIQUE (digest, model)
            )""",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class CatalogDiff:
    """What became of tools that were put on a shelf, by id."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[RefusedTool, ...] = ()
    """Those whose id is taken by a different tool of another source."""


class CatalogFile(Database):
    """A catalogue in a file. Safe to share between threads and processes."""

    def __init__(self, path: str | Path, *, timeout: float = 30.0) -> None:
        super().__init__(path, CATALOG_FILE, timeout)

    def put(self, tools: Iterable[Tool], source: str, *, keep: Collection[str] = ()) -> CatalogDiff:
        """Put what a source has now in place of what it had: tools it has no longer are removed.

        Those of the servers in `keep` stay all the same, as where a server could not be asked this time.
        """
        rows = {tool.id: (checked(tool.id, "the id"), tool.app, _body(tool)) for tool in Catalog(tools)}
        added: list[str] = []
        changed: list[str] = []
        unchanged: list[str] = []
        refused: list[RefusedTool] = []
        with self._writing() as connection:
            named = (checked(source, "the source"),)
            connection.execute("INSERT INTO sources (name) VALUES (?) ON CONFLICT DO NOTHING", named)
            key = _one(connection, "SELECT key FROM sources WHERE name = ?", source)
            there = _there(connection)
            for identity, (_, app, body) in rows.items():
                owner, _, old = there.get(identity, (key, "", None))
                if old is None:
                    connection.execute(
                        "INSERT INTO tools (id, app, source, body) VALUES (?, ?, ?, ?)",
                        (identity, app, key, body),
                    )
                    added.append(identity)
                elif old == body or owner == key:
                    row = (body, key, identity)  # an equal tool of another source passes to this one
                    connection.execute("UPDATE tools SET body = ?, source = ? WHERE id = ?", row)
                    (unchanged if old == body else changed).append(identity)
                else:
                    name = _one(connection, "SELECT name FROM sources WHERE key = ?", owner)
                    refused.append(RefusedTool(identity, f"is already there, and different, from {name}"))
            removed = [
                identity
                for identity, (owner, app, _) in there.items()
                if owner == key and identity not in rows and app not in keep
            ]
            _delete(connection, removed)
            if changed:
                _drop_vectors(connection)
        return CatalogDiff(*map(tuple, (added, changed, unchanged, removed)), refused=tuple(refused))

    def remove(self, ids: Iterable[str] = (), *, server: str | None = None) -> tuple[str, ...]:
        """Remove tools by id, and all those of a server; the ids of those that are gone."""
        with self._writing() as connection:
            there = _there(connection)
            wanted = dict.fromkeys(ids)
            gone = [one for one, (_, app, _) in there.items() if one in wanted or app == server]
            if unknown := [one for one in wanted if one not in there]:
                raise InvalidDataError(f"there is no tool {unknown[0]!r} in the catalogue")
            if server is not None and not any(app == server for _, app, _ in there.values()):
                raise InvalidDataError(f"there is no server {server!r} in the catalogue")
            _delete(connection, gone)
        return tuple(gone)

    def catalog(self) -> Catalog:
        """The tools, in the order they came."""
        with self._reading() as connection:
            rows = connection.execute("SELECT body FROM tools ORDER BY place").fetchall()
        return Catalog(map(_tool, _parsed(rows)))

    def sources(self) -> dict[str, tuple[str, ...]]:
        """By source, in the order they came: the ids of the tools it has on the shelf."""
        query = "SELECT name, id FROM sources JOIN tools ON source = key ORDER BY key, place"
        found: dict[str, list[str]] = {}
        with self._reading() as connection:
            for name, identity in connection.execute(query).fetchall():
                found.setdefault(name, []).append(identity)
        return {name: tuple(ids) for name, ids in found.items()}

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Those kept for these text digests under this model."""
        query = "SELECT digest, vector FROM vectors WHERE model = ? AND digest IN ({})"
        with self._reading() as connection:
            rows = select_in(connection, query, (model,), digests)
        return {digest: vector_from(blob) for digest, blob in rows}

    def put_vectors(self, model: str, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keep vectors."""
        rows = [(digest, checked(model, "the model"), vector_blob(row)) for digest, row in vectors.items()]
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)


def _body(tool: Tool) -> str:
    try:
        return json.dumps(tool_json(tool), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise InvalidDataError(
            f"tool {tool.id!r}: JSON cannot hold its parameters: use text, numbers, booleans, lists and dicts"
        ) from None


def _parsed(rows: Sequence[tuple[str]]) -> list[Any]:
    """The bodies as one JSON list, which takes half the time of one by one."""
    try:
        return json.loads(f"[{','.join(row[0] for row in rows)}]")
    except ValueError as error:
        raise StoreError("tools on the shelf cannot be read: add them to a new file") from error


def _tool(body: Mapping[str, Any]) -> Tool:
    whole = dict(body)
    whole["annotations"] = Annotations(**body.get("annotations", {}))
    whole["examples"] = tuple(body.get("examples", ()))
    return Tool(**whole)


def _one(connection: sqlite3.Connection, query: str, value: object) -> Any:
    return connection.execute(query, (value,)).fetchone()[0]


def _there(connection: sqlite3.Connection) -> dict[str, tuple[int, str, str]]:
    """By id: the source's key, the app and the body."""
    rows = connection.execute("SELECT id, source, app, body FROM tools ORDER BY place").fetchall()
    return {identity: (source, app, body) for identity, source, app, body in rows}


def _delete(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    connection.executemany("DELETE FROM tools WHERE id = ?", [(identity,) for identity in ids])
    connection.execute("DELETE FROM sources WHERE key NOT IN (SELECT source FROM tools)")
    if ids:
        _drop_vectors(connection)


def _drop_vectors(connection: sqlite3.Connection) -> None:
    """Delete the vectors of texts that no tool has any more."""
    tools = map(_tool, _parsed(connection.execute("SELECT body FROM tools").fetchall()))
    kept = {text_digest(text) for tool in tools for text in (tool_text(tool), *tool.examples)}
    there = connection.execute("SELECT DISTINCT digest FROM vectors").fetchall()
    connection.executemany(
        "DELETE FROM vectors WHERE digest = ?", [row for row in there if row[0] not in kept]
    )
