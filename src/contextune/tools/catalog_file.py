"""CatalogFile: a catalogue and its vectors in one SQLite file."""

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
from contextune.store.rows import check_unicode, parse_vector, vector_blob
from contextune.store.schema import DatabaseSchema
from contextune.tools.catalog import Catalog, RefusedTool
from contextune.tools.loaders.jsonl import tool_to_json
from contextune.tools.tool_text import tool_text
from contextune.types import Annotations, Tool

CATALOG_FILE = DatabaseSchema(
    "catalogue",
    0x43545453,  # "CTTS"
    (
        (
            "CREATE TABLE sources (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
            # `place` is the insertion order; a tool that changes keeps it
            """CREATE TABLE tools (
                place INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                app TEXT NOT NULL,
                source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
                body TEXT NOT NULL
            )""",
            "CREATE INDEX tools_of_source ON tools (source)",
            # not WITHOUT ROWID: a vector is too long for a page of such a table
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
    """What `CatalogFile.put` changed, as tool ids."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[RefusedTool, ...] = ()
    """Tools whose id belongs to a different tool from another source."""


class CatalogFile(Database):
    """A catalogue in a file. Safe to share between threads and processes."""

    def __init__(self, path: str | Path, *, timeout: float = 30.0) -> None:
        super().__init__(path, CATALOG_FILE, timeout)

    def put(
        self,
        tools: Iterable[Tool],
        source: str,
        *,
        keep: Collection[str] = (),
        keep_tools: Collection[str] = (),
    ) -> CatalogDiff:
        """Replace the tools of a source; those that it no longer has are removed.

        Tools of the servers in `keep` are not removed, for servers that could not be reached this time, nor
        are those with an id in `keep_tools`, for tools whose changes wait for approval.
        """
        rows = {tool.id: (check_unicode(tool.id, "the id"), tool.app, _body(tool)) for tool in Catalog(tools)}
        added: list[str] = []
        changed: list[str] = []
        unchanged: list[str] = []
        refused: list[RefusedTool] = []
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO sources (name) VALUES (?) ON CONFLICT DO NOTHING",
                (check_unicode(source, "the source"),),
            )
            key = _select_value(connection, "SELECT key FROM sources WHERE name = ?", source)
            stored = _stored_tools(connection)
            for tool_id, (_, app, body) in rows.items():
                owner, _, old = stored.get(tool_id, (key, "", None))
                if old is None:
                    connection.execute(
                        "INSERT INTO tools (id, app, source, body) VALUES (?, ?, ?, ?)",
                        (tool_id, app, key, body),
                    )
                    added.append(tool_id)
                elif old == body or owner == key:
                    row = (body, key, tool_id)  # an equal tool of another source is reassigned to this one
                    connection.execute("UPDATE tools SET body = ?, source = ? WHERE id = ?", row)
                    (unchanged if old == body else changed).append(tool_id)
                else:
                    name = _select_value(connection, "SELECT name FROM sources WHERE key = ?", owner)
                    refused.append(RefusedTool(tool_id, f"differs from the tool of the same id from {name}"))
            removed = [
                tool_id
                for tool_id, (owner, app, _) in stored.items()
                if owner == key and tool_id not in rows and app not in keep and tool_id not in keep_tools
            ]
            _delete(connection, removed)
            if changed:
                _delete_unused_vectors(connection)
        return CatalogDiff(*map(tuple, (added, changed, unchanged, removed)), refused=tuple(refused))

    def remove(self, ids: Iterable[str] = (), *, server: str | None = None) -> tuple[str, ...]:
        """Remove tools by id, and all tools of a server; returns the removed ids."""
        with self._writing() as connection:
            stored = _stored_tools(connection)
            requested = dict.fromkeys(ids)
            removed = [
                tool_id for tool_id, (_, app, _) in stored.items() if tool_id in requested or app == server
            ]
            if unknown := [tool_id for tool_id in requested if tool_id not in stored]:
                raise InvalidDataError(f"there is no tool {unknown[0]!r} in the catalogue")
            if server is not None and not any(app == server for _, app, _ in stored.values()):
                raise InvalidDataError(f"there is no server {server!r} in the catalogue")
            _delete(connection, removed)
        return tuple(removed)

    def catalog(self) -> Catalog:
        """The tools, in insertion order."""
        with self._reading() as connection:
            rows = connection.execute("SELECT body FROM tools ORDER BY place").fetchall()
        return Catalog(map(_tool, _parse_bodies(rows)))

    def sources(self) -> dict[str, tuple[str, ...]]:
        """The ids of each source's tools, in insertion order."""
        query = "SELECT name, id FROM sources JOIN tools ON source = key ORDER BY key, place"
        ids_of: dict[str, list[str]] = {}
        with self._reading() as connection:
            for name, tool_id in connection.execute(query).fetchall():
                ids_of.setdefault(name, []).append(tool_id)
        return {name: tuple(ids) for name, ids in ids_of.items()}

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors stored for these text digests and this embedder."""
        query = "SELECT digest, vector FROM vectors WHERE model = ? AND digest IN ({})"
        with self._reading() as connection:
            rows = select_in(connection, query, (model,), digests)
        return {digest: parse_vector(blob) for digest, blob in rows}

    def put_vectors(self, model: str, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Store vectors."""
        rows = [
            (digest, check_unicode(model, "the model"), vector_blob(row)) for digest, row in vectors.items()
        ]
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)


def _body(tool: Tool) -> str:
    try:
        return json.dumps(tool_to_json(tool), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise InvalidDataError(
            f"tool {tool.id!r}: its parameters are not JSON: use strings, numbers, booleans, lists and dicts"
        ) from None


def _parse_bodies(rows: Sequence[tuple[str]]) -> list[Any]:
    """Parse all bodies as one JSON list, in half the time of parsing each."""
    try:
        return json.loads(f"[{','.join(row[0] for row in rows)}]")
    except ValueError as error:
        raise StoreError("the catalogue file is damaged: add its tools to a new one") from error


def _tool(body: Mapping[str, Any]) -> Tool:
    fields = dict(body)
    fields["annotations"] = Annotations(**body.get("annotations", {}))
    fields["examples"] = tuple(body.get("examples", ()))
    return Tool(**fields)


def _select_value(connection: sqlite3.Connection, query: str, value: object) -> Any:
    return connection.execute(query, (value,)).fetchone()[0]


def _stored_tools(connection: sqlite3.Connection) -> dict[str, tuple[int, str, str]]:
    """Tool id → (source key, app, body)."""
    rows = connection.execute("SELECT id, source, app, body FROM tools ORDER BY place").fetchall()
    return {tool_id: (source, app, body) for tool_id, source, app, body in rows}


def _delete(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    connection.executemany("DELETE FROM tools WHERE id = ?", [(tool_id,) for tool_id in ids])
    connection.execute("DELETE FROM sources WHERE key NOT IN (SELECT source FROM tools)")
    if ids:
        _delete_unused_vectors(connection)


def _delete_unused_vectors(connection: sqlite3.Connection) -> None:
    """Delete the vectors of texts that no tool has any more."""
    tools = map(_tool, _parse_bodies(connection.execute("SELECT body FROM tools").fetchall()))
    used = {text_digest(text) for tool in tools for text in (tool_text(tool), *tool.examples)}
    digests = connection.execute("SELECT DISTINCT digest FROM vectors").fetchall()
    connection.executemany(
        "DELETE FROM vectors WHERE digest = ?", [row for row in digests if row[0] not in used]
    )
