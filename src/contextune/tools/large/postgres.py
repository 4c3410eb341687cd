"""PostgresCatalog: a catalogue of tools in PostgreSQL with pgvector, for services that share one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, LiteralString, cast

import numpy as np

from contextune.embed import Embedder, Matrix
from contextune.errors import InvalidDataError, StoreError
from contextune.search import identifier_words
from contextune.store.postgres.connections import READ, WRITE, PostgresDatabase, check_text
from contextune.tools.candidates import Positions
from contextune.tools.catalog import Catalog, RefusedTool
from contextune.tools.catalog_file import CatalogDiff, parse_tool, tool_body
from contextune.tools.filter import ToolFilter, may_be_destructive
from contextune.tools.index import MAX_EXAMPLES, SAMPLED_TOOLS, VectorCache, embed_texts
from contextune.tools.large import postgres_schema as sql
from contextune.tools.large.lazy_catalog import LazyCatalog
from contextune.tools.large.pgvector import create_extension, explain_privileges
from contextune.tools.large.postgres_bulk import rebuilt_indexes
from contextune.tools.large.postgres_search import PostgresSearch, parse_vectors, signed_key, vector_text
from contextune.tools.large.postgres_words import all_tokens, count_words, spellings
from contextune.tools.large.segment import ALL_FIELDS
from contextune.tools.large.subset import SubsetIndex
from contextune.tools.query import ToolQuery
from contextune.tools.tool_text import FIELDS, MAX_NAME_WORDS, field_tokens, tool_text
from contextune.types import Tool

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

_RECOUNT = 1.2
"""Growth of a catalogue after which statistics of words are computed anew."""
_PAGE = 1000
_BATCH = 100
"""Rows that are sent at once: a server that cannot take all of them for seconds counts as gone."""


@dataclass(frozen=True, slots=True)
class _NewTools:
    """The tools of a source as they are to be stored."""

    source: str
    tools: Mapping[str, Tool]
    bodies: Mapping[str, str]

    @classmethod
    def build(cls, tools: Iterable[Tool], source: str) -> "_NewTools":
        check_text(source, "the source")
        by_id = {tool.id: tool for tool in Catalog(tools)}
        return cls(
            source, by_id, {check_text(name, "the id"): tool_body(tool) for name, tool in by_id.items()}
        )


_Stored = Mapping[str, tuple[str, str]]
"""Source and body of stored tools, by id."""


@dataclass(frozen=True, slots=True)
class _Changes:
    diff: CatalogDiff
    written: Sequence[Tool]
    old: Sequence[Tool]
    """As they were before: changed and removed tools."""


class PostgresCatalog(PostgresDatabase):
    """A catalogue in PostgreSQL: search it with `ToolRetriever.from_index`. Thread-safe.

    Needs the extension pgvector. Each `put` is one transaction; readers see it as a whole.
    """

    def __init__(
        self, url: str, embedder: Embedder, *, timeout: float = 30.0, max_connections: int = 8
    ) -> None:
        """Open the catalogue of a database, created if missing; it belongs to one embedder."""
        self._embedder = embedder
        self.catalog: Catalog = LazyCatalog(self)
        self._sample: tuple[int, Matrix] | None = None
        super().__init__(url, timeout=timeout, max_connections=max_connections)

    @property
    def embedder_name(self) -> str:
        """The name of the embedder of its vectors."""
        return self._embedder.name

    def _prepare(self, connection: "Connection") -> None:
        with explain_privileges(connection, self._name, sql.SCHEMA), connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (sql.LOCK,))
            for statement in sql.CREATE:
                connection.execute(statement)
            connection.execute(f"SET LOCAL search_path = {sql.SCHEMA}, public")
            state = connection.execute("SELECT version, embedder FROM state").fetchone()
            if state is None:
                self._create(connection)
            elif state[0] != sql.VERSION:
                raise StoreError(
                    f"the tool catalogue in {self._name} is of version {state[0]}; this Contextune supports "
                    f"version {sql.VERSION}: pip install -U contextune"
                )
            elif state[1] != self._embedder.name:
                raise StoreError(
                    f"the tool catalogue in {self._name} is of the embedder {state[1]!r}, not "
                    f"{self._embedder.name!r}: use that one, or another database"
                )

    def _create(self, connection: "Connection") -> None:
        create_extension(connection, self._name)
        dimension = self._embedder.embed(["dimension"]).shape[1]
        names = {"schema": sql.SCHEMA, "vector": "halfvec", "operators": "halfvec_ip_ops"}
        for statement in sql.CREATE_TABLES:
            connection.execute(cast("LiteralString", statement.format(dimension=dimension, **names)))
        query = "INSERT INTO state (version, embedder, dimension) VALUES (%s, %s, %s)"
        connection.execute(query, (sql.VERSION, self._embedder.name, dimension))

    def _configure(self, connection: "Connection") -> None:
        connection.execute(f"SET search_path = {sql.SCHEMA}, public")

    def put(
        self,
        tools: Iterable[Tool],
        source: str,
        *,
        keep: Collection[str] = (),
        keep_tools: Collection[str] = (),
        vector_cache: VectorCache | None = None,
    ) -> CatalogDiff:
        """Replace the tools of a source, as `CatalogFile.put` does; only new texts are embedded.

        Vectors that `vector_cache` has are taken from it. If more tools are written than there are, the
        indexes of words and vectors are built anew, which is faster; searches wait for it.
        """
        new = _NewTools.build(tools, source)
        with self._transaction(READ) as connection:
            stored = self._bodies(connection, list(new.tools))
        vectors = self._embed_changed(new, stored, vector_cache)
        with self._transaction(WRITE) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (sql.LOCK,))
            stored = self._bodies(connection, list(new.tools))  # another process may have written
            with rebuilt_indexes(connection, len(vectors)):
                changes = self._replace(connection, new, stored, vectors, keep=keep, keep_tools=keep_tools)
            self._count(connection, changes.written, changes.old)
        return changes.diff

    def load(
        self, sources: Iterable[tuple[str, Iterable[Tool]]], *, vector_cache: VectorCache | None = None
    ) -> int:
        """Put the tools of many sources in one transaction, and return the number of tools written.

        For a first load of many thousands: the tools of one source at a time are in memory, and all
        indexes are built at the end. Nothing is stored if it fails; searches wait until it ends.
        """
        written = 0
        with self._transaction(WRITE) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (sql.LOCK,))
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # while it embeds
            with rebuilt_indexes(connection, None):
                for source, tools in sources:
                    new = _NewTools.build(tools, source)
                    stored = self._bodies(connection, list(new.tools))
                    vectors = self._embed_changed(new, stored, vector_cache)
                    written += len(self._replace(connection, new, stored, vectors).written)
            query = "UPDATE state SET tools = (SELECT count(*) FROM tools) RETURNING tools"
            self._recount(connection, connection.execute(query).fetchall()[0][0])
        return written

    def _embed_changed(
        self, new: "_NewTools", stored: _Stored, cache: VectorCache | None
    ) -> dict[str, Matrix]:
        """Vectors of the tools that are not stored, by id."""
        fresh = [
            tool for name, tool in new.tools.items() if stored.get(name, ("", ""))[1] != new.bodies[name]
        ]
        vectors = embed_texts([tool_text(tool) for tool in fresh], self._embedder, cache, None)
        return {tool.id: vector for tool, vector in zip(fresh, vectors, strict=True)}

    def _replace(
        self,
        connection: "Connection",
        new: "_NewTools",
        stored: _Stored,
        vectors: dict[str, Matrix],
        *,
        keep: Collection[str] = (),
        keep_tools: Collection[str] = (),
    ) -> "_Changes":
        """Replace the tools of a source; words are not counted."""
        added: list[str] = []
        changed: list[str] = []
        unchanged: list[str] = []
        refused: list[RefusedTool] = []
        old: list[Tool] = []
        written: list[Tool] = []
        for name, tool in new.tools.items():
            owner, body = stored.get(name, (new.source, None))
            if body == new.bodies[name]:
                unchanged.append(name)
                continue
            if body is not None and owner != new.source:
                refused.append(RefusedTool(name, f"differs from the tool of the same id from {owner}"))
                continue
            if name not in vectors:  # another process changed it meanwhile
                vectors[name] = self._embedder.embed([tool_text(tool)])[0]
            if body is not None:
                old.append(parse_tool(body))
            (added if body is None else changed).append(name)
            written.append(tool)
        self._write(connection, written, new, vectors)
        connection.execute("UPDATE tools SET source = %s WHERE id = ANY(%s)", (new.source, unchanged))
        query = "SELECT id, app FROM tools WHERE source = %s ORDER BY place"
        rows = connection.execute(query, (new.source,)).fetchall()
        removed = [
            name for name, app in rows if name not in new.tools and app not in keep and name not in keep_tools
        ]
        old += self._delete(connection, removed)
        diff = CatalogDiff(*map(tuple, (added, changed, unchanged, removed)), refused=tuple(refused))
        return _Changes(diff, written, old)

    def remove(self, ids: Iterable[str] = (), *, server: str | None = None) -> tuple[str, ...]:
        """Remove tools by id, and all tools of a server; returns the removed ids."""
        wanted = list(dict.fromkeys(ids))
        with self._transaction(WRITE) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (sql.LOCK,))
            query = "SELECT id, app FROM tools WHERE id = ANY(%s) OR app = %s ORDER BY place"
            rows = connection.execute(query, (wanted, server)).fetchall()
            removed = [name for name, _ in rows]
            if unknown := [name for name in wanted if name not in removed]:
                raise InvalidDataError(f"there is no tool {unknown[0]!r} in the catalogue")
            if server is not None and server not in {app for _, app in rows}:
                raise InvalidDataError(f"there is no server {server!r} in the catalogue")
            self._count(connection, [], self._delete(connection, removed))
        return tuple(removed)

    def positions(self, ids: Sequence[str]) -> dict[str, int]:
        """Places of the tools with these ids; unknown ids are left out."""
        with self._transaction(READ) as connection:
            return dict(connection.execute("SELECT id, place FROM tools WHERE id = ANY(%s)", (list(ids),)))

    def subset(
        self, query: ToolQuery, tool_filter: ToolFilter | None, depth: int
    ) -> tuple[SubsetIndex, ToolQuery]:
        """The candidates of a request, and the request with its past calls at their positions."""
        accept = tool_filter if tool_filter is not None and type(tool_filter) is not ToolFilter else None
        with self._transaction(READ) as connection:
            search = PostgresSearch(connection, tool_filter, query)
            return search.subset(query, depth, self._sampled(connection), parse_tool, accept)

    def nearest(self, vector: Matrix, k: int) -> Positions:
        """Places of about the `k` tools most similar to a vector, as the index finds them."""
        with self._transaction(READ) as connection:
            return PostgresSearch(connection, None, ToolQuery("", vector)).nearest(vector, k)

    def read(self, query: LiteralString, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._transaction(READ) as connection:
            return connection.execute(query, values).fetchall()

    def _bodies(self, connection: "Connection", ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        query = "SELECT id, source, body FROM tools WHERE id = ANY(%s)"
        return {name: (source, body) for name, source, body in connection.execute(query, (list(ids),))}

    def _write(
        self,
        connection: "Connection",
        tools: Sequence[Tool],
        new: "_NewTools",
        vectors: Mapping[str, Matrix],
    ) -> None:
        examples = [(tool.id, text) for tool in tools for text in tool.examples[:MAX_EXAMPLES]]
        example_vectors = self._embedder.embed([text for _, text in examples]) if examples else ()
        query = "DELETE FROM examples WHERE place IN (SELECT place FROM tools WHERE id = ANY(%s))"
        connection.execute(query, ([tool.id for tool in tools],))
        rows = (_row(tool, new, vectors[tool.id]) for tool in tools)
        example_rows = (
            (vector_text(vector), name) for (name, _), vector in zip(examples, example_vectors, strict=True)
        )
        with connection.cursor() as cursor:
            while batch := list(islice(rows, _BATCH)):
                cursor.executemany(sql.PUT_TOOL, batch)
            while batch := list(islice(example_rows, _BATCH)):
                cursor.executemany(sql.PUT_EXAMPLE, batch)

    def _delete(self, connection: "Connection", ids: Sequence[str]) -> list[Tool]:
        query = "DELETE FROM tools WHERE id = ANY(%s) RETURNING body"
        return [parse_tool(body) for (body,) in connection.execute(query, (list(ids),)).fetchall()]

    def _count(self, connection: "Connection", added: Sequence[Tool], removed: Sequence[Tool]) -> None:
        """Keep the statistics of words; compute them anew when the catalogue has grown."""
        query = "UPDATE state SET tools = tools + %s RETURNING tools, recounted, averages"
        change = len(added) - len(removed)
        tools, recounted, averages = connection.execute(query, (change,)).fetchall()[0]
        if tools > _RECOUNT * recounted:
            self._recount(connection, tools)
            return
        by_field: dict[str, float] = dict(zip(ALL_FIELDS, averages, strict=True))
        counts = count_words(map(field_tokens, added), by_field)
        for word, (numbers, sums) in count_words(map(field_tokens, removed), by_field).items():
            old, old_sums = counts.setdefault(word, ([0] * len(ALL_FIELDS), [0.0] * len(ALL_FIELDS)))
            old[:] = [a - b for a, b in zip(old, numbers, strict=True)]
            old_sums[:] = [a - b for a, b in zip(old_sums, sums, strict=True)]
        self._add_words(connection, counts)

    def _recount(self, connection: "Connection", tools: int) -> None:
        columns = ", ".join(f"{field}_tokens" for field in FIELDS)
        lengths = ", ".join(f"coalesce(sum(cardinality({field}_tokens)), 0)" for field in FIELDS)
        query = f"SELECT {lengths} FROM tools"  # noqa: S608  # fixed names
        sums = [float(value) for value in connection.execute(query).fetchall()[0]]
        averages = [max(total / max(1, tools), 1e-9) for total in (*sums, sum(sums))]
        with connection.cursor("tokens") as cursor:
            cursor.itersize = _PAGE
            cursor.execute(f"SELECT {columns} FROM tools")  # noqa: S608
            documents = (dict[str, list[str]](zip(FIELDS, row, strict=True)) for row in cursor)
            counts = count_words(documents, dict(zip(ALL_FIELDS, averages, strict=True)))
        connection.execute("DELETE FROM words")
        self._add_words(connection, counts)
        connection.execute("UPDATE state SET recounted = tools, averages = %s", (averages,))

    def _add_words(self, connection: "Connection", counts: dict[str, tuple[list[int], list[float]]]) -> None:
        rows = [(word, spellings(word), tools, sums) for word, (tools, sums) in sorted(counts.items())]
        with connection.cursor() as cursor:
            for start in range(0, len(rows), _PAGE):
                cursor.executemany(sql.ADD_WORDS, rows[start : start + _PAGE])

    def count(self) -> int:
        """The number of tools."""
        return self.read("SELECT tools FROM state")[0][0]

    def page(self, after: int, size: int) -> list[tuple[int, Tool]]:
        """The next `size` tools after a place, each with its place."""
        query = "SELECT place, body FROM tools WHERE place > %s ORDER BY place LIMIT %s"
        return [(place, parse_tool(body)) for place, body in self.read(query, (after, size))]

    def tool_with_id(self, id: str) -> Tool | None:  # noqa: A002
        """The tool with this id, if there is one."""
        rows = self.read("SELECT body FROM tools WHERE id = %s", (id,))
        return parse_tool(rows[0][0]) if rows else None

    def tools_named(self, name: str) -> list[Tool]:
        """The tools of all servers with this name."""
        rows = self.read("SELECT body FROM tools WHERE name = %s ORDER BY place", (name,))
        return [parse_tool(body) for (body,) in rows]

    def _sampled(self, connection: "Connection") -> Matrix:
        """Vectors of some tools; read again when the number of tools has changed."""
        tools = connection.execute("SELECT tools FROM state").fetchall()[0][0]
        if self._sample is None or self._sample[0] != tools:
            rows = connection.execute(sql.SAMPLE, {"size": SAMPLED_TOOLS}, binary=True).fetchall()
            width = connection.execute("SELECT dimension FROM state").fetchall()[0][0]
            vectors = parse_vectors([row[0] for row in rows]) if rows else np.zeros((1, width), np.float32)
            self._sample = tools, vectors
        return self._sample[1]


def _row(tool: Tool, new: _NewTools, vector: Matrix) -> tuple[Any, ...]:
    """The values of `PUT_TOOL`."""
    tokens = field_tokens(tool)
    return (
        tool.id, tool.app, tool.name, new.source, new.bodies[tool.id],
        bool(tool.annotations.read_only), may_be_destructive(tool),
        signed_key(identifier_words(tool.name)[:MAX_NAME_WORDS]), signed_key(identifier_words(tool.app)),
        *(tokens[field] for field in FIELDS), sorted(set(all_tokens(tokens))), vector_text(vector),
    )  # fmt: skip
