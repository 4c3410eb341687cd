"""PostgresCatalog: a catalogue of tools in PostgreSQL with pgvector, for services that share one."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, LiteralString, cast

import numpy as np

from contextune.embed import Embedder, Matrix
from contextune.errors import InvalidDataError, StoreError
from contextune.search import identifier_words
from contextune.store.postgres.connections import READ, WRITE, PostgresDatabase, check_text
from contextune.tools.catalog import Catalog, RefusedTool
from contextune.tools.catalog_file import CatalogDiff, parse_tool, tool_body
from contextune.tools.filter import ToolFilter, may_be_destructive
from contextune.tools.index import MAX_EXAMPLES, SAMPLED_TOOLS, embed_texts
from contextune.tools.large import postgres_schema as sql
from contextune.tools.large.lazy_catalog import LazyCatalog
from contextune.tools.large.pgvector import create_extension, explain_privileges
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
    ) -> CatalogDiff:
        """Replace the tools of a source, as `CatalogFile.put` does; only new texts are embedded."""
        new = {tool.id: tool for tool in Catalog(tools)}
        bodies = {check_text(name, "the id"): tool_body(tool) for name, tool in new.items()}
        with self._transaction(READ) as connection:
            stored = self._bodies(connection, list(new))
        fresh = [tool for name, tool in new.items() if stored.get(name, ("", ""))[1] != bodies[name]]
        vectors = embed_texts([tool_text(tool) for tool in fresh], self._embedder, None, None)
        vector_of = {tool.id: vector for tool, vector in zip(fresh, vectors, strict=True)}
        added: list[str] = []
        changed: list[str] = []
        unchanged: list[str] = []
        refused: list[RefusedTool] = []
        with self._transaction(WRITE) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (sql.LOCK,))
            stored = self._bodies(connection, list(new))
            old: list[Tool] = []
            written: list[Tool] = []
            for name, tool in new.items():
                owner, body = stored.get(name, (source, None))
                if body == bodies[name]:
                    unchanged.append(name)
                    continue
                if body is not None and owner != source:
                    refused.append(RefusedTool(name, f"differs from the tool of the same id from {owner}"))
                    continue
                if name not in vector_of:  # another process changed it meanwhile
                    vector_of[name] = self._embedder.embed([tool_text(tool)])[0]
                if body is not None:
                    old.append(parse_tool(body))
                (added if body is None else changed).append(name)
                written.append(tool)
                self._write(connection, tool, source, bodies[name], vector_of[name])
            connection.execute("UPDATE tools SET source = %s WHERE id = ANY(%s)", (source, unchanged))
            query = "SELECT id, app FROM tools WHERE source = %s ORDER BY place"
            rows = connection.execute(query, (source,)).fetchall()
            removed = [
                name for name, app in rows if name not in new and app not in keep and name not in keep_tools
            ]
            old += self._delete(connection, removed)
            self._count(connection, written, old)
        return CatalogDiff(*map(tuple, (added, changed, unchanged, removed)), refused=tuple(refused))

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

    def read(self, query: LiteralString, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._transaction(READ) as connection:
            return connection.execute(query, values).fetchall()

    def _bodies(self, connection: "Connection", ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        query = "SELECT id, source, body FROM tools WHERE id = ANY(%s)"
        return {name: (source, body) for name, source, body in connection.execute(query, (list(ids),))}

    def _write(self, connection: "Connection", tool: Tool, source: str, body: str, vector: Matrix) -> None:
        tokens = field_tokens(tool)
        words = sorted(set(all_tokens(tokens)))
        row = (
            tool.id, tool.app, tool.name, check_text(source, "the source"), body,
            bool(tool.annotations.read_only), may_be_destructive(tool),
            signed_key(identifier_words(tool.name)[:MAX_NAME_WORDS]), signed_key(identifier_words(tool.app)),
            *(tokens[field] for field in FIELDS), words, vector_text(vector),
        )  # fmt: skip
        place = connection.execute(sql.PUT_TOOL, row).fetchall()[0][0]
        connection.execute("DELETE FROM examples WHERE place = %s", (place,))
        texts = tool.examples[:MAX_EXAMPLES]
        for example in self._embedder.embed(list(texts)) if texts else ():
            connection.execute("INSERT INTO examples VALUES (%s, %s)", (place, vector_text(example)))

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
            cursor.executemany(sql.ADD_WORDS, rows)

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
            query = "SELECT vector FROM tools ORDER BY md5(place::text) LIMIT %s"
            rows = connection.execute(query, (SAMPLED_TOOLS,), binary=True).fetchall()
            width = connection.execute("SELECT dimension FROM state").fetchall()[0][0]
            vectors = parse_vectors([row[0] for row in rows]) if rows else np.zeros((1, width), np.float32)
            self._sample = tools, vectors
        return self._sample[1]
