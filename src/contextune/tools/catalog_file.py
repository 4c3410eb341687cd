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
        (
            # what changed since a revision, for an index of this file
            "CREATE TABLE state (id TEXT NOT NULL, revision INTEGER NOT NULL)",
            "INSERT INTO state VALUES (lower(hex(randomblob(16))), 1)",
            "ALTER TABLE tools ADD COLUMN revision INTEGER NOT NULL DEFAULT 1",
            "CREATE INDEX tools_by_revision ON tools (revision)",
            "CREATE INDEX tools_of_app ON tools (app)",
            "CREATE INDEX tools_by_name ON tools (json_extract(body, '$.name'))",
            "CREATE TABLE removals (place INTEGER PRIMARY KEY, revision INTEGER NOT NULL)",
            "CREATE INDEX removals_by_revision ON removals (revision)",
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


@dataclass(frozen=True, slots=True)
class CatalogRevision:
    """Which state of which catalogue file."""

    catalog: str
    """A random id of the file."""
    number: int


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
        rows = {
            tool.id: (check_unicode(tool.id, "the id"), tool.app, tool_body(tool)) for tool in Catalog(tools)
        }
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
            query = "SELECT id, source, body FROM tools WHERE id IN ({})"
            stored = {name: (owner, body) for name, owner, body in select_in(connection, query, (), [*rows])}
            revision = _select_value(connection, "SELECT revision + ? FROM state", 1)
            for tool_id, (_, app, body) in rows.items():
                owner, old = stored.get(tool_id, (key, None))
                if old is None:
                    connection.execute(
                        "INSERT INTO tools (id, app, source, body, revision) VALUES (?, ?, ?, ?, ?)",
                        (tool_id, app, key, body, revision),
                    )
                    added.append(tool_id)
                elif old == body:  # an equal tool of another source is reassigned to this one
                    connection.execute("UPDATE tools SET source = ? WHERE id = ?", (key, tool_id))
                    unchanged.append(tool_id)
                elif owner == key:
                    row = (body, revision, tool_id)
                    connection.execute("UPDATE tools SET body = ?, revision = ? WHERE id = ?", row)
                    changed.append(tool_id)
                else:
                    name = _select_value(connection, "SELECT name FROM sources WHERE key = ?", owner)
                    refused.append(RefusedTool(tool_id, f"differs from the tool of the same id from {name}"))
            before = connection.execute(
                "SELECT id, app FROM tools WHERE source = ? ORDER BY place", (key,)
            ).fetchall()
            removed = [
                tool_id
                for tool_id, app in before
                if tool_id not in rows and app not in keep and tool_id not in keep_tools
            ]
            _delete(connection, removed, revision)
            if added or changed or removed:
                connection.execute("UPDATE state SET revision = ?", (revision,))
            _delete_unused_vectors(connection, [stored[tool_id][1] for tool_id in changed])
        return CatalogDiff(*map(tuple, (added, changed, unchanged, removed)), refused=tuple(refused))

    def remove(self, ids: Iterable[str] = (), *, server: str | None = None) -> tuple[str, ...]:
        """Remove tools by id, and all tools of a server; returns the removed ids."""
        requested = dict.fromkeys(ids)
        with self._writing() as connection:
            query = "SELECT id, place FROM tools WHERE id IN ({})"
            places = dict(select_in(connection, query, (), list(requested)))
            if unknown := [tool_id for tool_id in requested if tool_id not in places]:
                raise InvalidDataError(f"there is no tool {unknown[0]!r} in the catalogue")
            if server is not None:
                query = "SELECT id, place FROM tools WHERE app = ?"
                tools = connection.execute(query, (server,)).fetchall()
                if not tools:
                    raise InvalidDataError(f"there is no server {server!r} in the catalogue")
                places |= dict(tools)
            removed = sorted(places, key=places.__getitem__)
            revision = _select_value(connection, "SELECT revision + ? FROM state", 1)
            _delete(connection, removed, revision)
            if removed:
                connection.execute("UPDATE state SET revision = ?", (revision,))
        return tuple(removed)

    def revision(self) -> CatalogRevision:
        """The state of the file; it changes when a tool is added, changed or removed."""
        with self._reading() as connection:
            return CatalogRevision(*connection.execute("SELECT id, revision FROM state").fetchone())

    def count(self) -> int:
        """The number of tools."""
        with self._reading() as connection:
            return connection.execute("SELECT count(*) FROM tools").fetchone()[0]

    def servers(self, names: Sequence[str]) -> list[str]:
        """Those of the servers that have tools."""
        query = "SELECT DISTINCT app FROM tools WHERE app IN ({})"
        with self._reading() as connection:
            return [app for (app,) in select_in(connection, query, (), names)]

    def changed_places(self, since: int) -> tuple[list[int], list[int], CatalogRevision]:
        """Places of the tools written and removed since a revision, and the revision now."""
        with self._reading() as connection:
            written = connection.execute(
                "SELECT place FROM tools WHERE revision > ? ORDER BY place", (since,)
            )
            places = [place for (place,) in written]
            removed = connection.execute("SELECT place FROM removals WHERE revision > ?", (since,))
            gone = [place for (place,) in removed]
            state = connection.execute("SELECT id, revision FROM state").fetchone()
        return places, gone, CatalogRevision(*state)

    def page(self, after: int, size: int) -> list[tuple[int, Tool]]:
        """The next `size` tools after a place, each with its place."""
        query = "SELECT place, body FROM tools WHERE place > ? ORDER BY place LIMIT ?"
        with self._reading() as connection:
            return _parse_rows(connection.execute(query, (after, size)).fetchall())

    def tools(self, places: Sequence[int]) -> dict[int, Tool]:
        """The tools at these places; places without a tool are left out."""
        query = "SELECT place, body FROM tools WHERE place IN ({})"
        with self._reading() as connection:
            return dict(_parse_rows(select_in(connection, query, (), places)))

    def places(self, ids: Sequence[str]) -> dict[str, int]:
        """The places of the tools with these ids; unknown ids are left out."""
        query = "SELECT id, place FROM tools WHERE id IN ({})"
        with self._reading() as connection:
            return dict(select_in(connection, query, (), ids))

    def tool_with_id(self, id: str) -> Tool | None:  # noqa: A002
        """The tool with this id, if there is one."""
        return next(iter(self.tools(list(self.places([id]).values())).values()), None)

    def tools_named(self, name: str) -> list[Tool]:
        """The tools of all servers with this name."""
        query = "SELECT place, body FROM tools WHERE json_extract(body, '$.name') = ? ORDER BY place"
        with self._reading() as connection:
            rows = connection.execute(query, (check_unicode(name, "the name"),)).fetchall()
        return [tool for _, tool in _parse_rows(rows)]

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


def tool_body(tool: Tool) -> str:
    """A tool as JSON."""
    try:
        return json.dumps(tool_to_json(tool), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise InvalidDataError(
            f"tool {tool.id!r}: its parameters are not JSON: use strings, numbers, booleans, lists and dicts"
        ) from None


def parse_tool(body: str) -> Tool:
    """The inverse of `tool_body`."""
    return _tool(_parse_bodies([(body,)])[0])


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


def _parse_rows(rows: Sequence[tuple[int, str]]) -> list[tuple[int, Tool]]:
    bodies = _parse_bodies([(body,) for _, body in rows])
    return [(row[0], _tool(body)) for row, body in zip(rows, bodies, strict=True)]


def _delete(connection: sqlite3.Connection, ids: Sequence[str], revision: int) -> None:
    rows = select_in(connection, "SELECT place, body FROM tools WHERE id IN ({})", (), ids)
    connection.executemany("DELETE FROM tools WHERE id = ?", [(tool_id,) for tool_id in ids])
    connection.executemany(
        "INSERT OR REPLACE INTO removals VALUES (?, ?)", [(place, revision) for place, _ in rows]
    )
    connection.execute("DELETE FROM sources WHERE NOT EXISTS (SELECT 1 FROM tools WHERE source = key)")
    _delete_unused_vectors(connection, [body for _, body in rows])


def _delete_unused_vectors(connection: sqlite3.Connection, old: Sequence[str]) -> None:
    """Delete the vectors of the texts of changed or removed tools, unless their server still has the text.

    Another server may have the same example; its vector is computed again when it is needed.
    """
    tools = [_tool(body) for body in _parse_bodies([(body,) for body in old])]
    if not tools:
        return
    query = "SELECT body FROM tools WHERE app IN ({})"
    apps = list({tool.app for tool in tools})
    remaining = map(_tool, _parse_bodies(select_in(connection, query, (), apps)))
    unused = {digest for tool in tools for digest in _digests(tool)}
    unused -= {digest for tool in remaining for digest in _digests(tool)}
    connection.executemany("DELETE FROM vectors WHERE digest = ?", [(digest,) for digest in unused])


def _digests(tool: Tool) -> list[bytes]:
    return [text_digest(text) for text in (tool_text(tool), *tool.examples)]
