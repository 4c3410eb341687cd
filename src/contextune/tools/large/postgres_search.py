"""The searches of one request in a catalogue in PostgreSQL."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, LiteralString, cast

import numpy as np

from contextune.embed import Matrix
from contextune.search import identifier_words, top
from contextune.tools.candidates import Mask, Positions, select_candidates
from contextune.tools.filter import ToolFilter
from contextune.tools.large import postgres_schema as sql
from contextune.tools.large.postgres_words import (
    QueryWords,
    Tokens,
    TokenScores,
    WordStatistics,
    all_tokens,
    searched_spellings,
)
from contextune.tools.large.segment import ALL_FIELDS, name_key
from contextune.tools.large.subset import SubsetCatalog, SubsetIndex, locate_past_calls, name_index
from contextune.tools.query import ToolQuery
from contextune.tools.tool_text import FIELDS, MAX_NAME_WORDS, Span
from contextune.types import Tool

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

_MAX_ROWS = 4000
"""Tools whose words are compared to choose candidates; of a request, its rarest words choose them."""
_RESCORED = 8
_MAX_SAME_NAME = 32
_EFFORT = 200


def vector_text(vector: Matrix) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(f'{value:.6g}' for value in vector.tolist())}]"


def parse_vectors(blobs: Sequence[bytes]) -> Matrix:
    """Half-precision vectors in pgvector's binary format: a header of four bytes, then the numbers."""
    return np.stack([np.frombuffer(blob, ">f2", offset=4) for blob in blobs]).astype(np.float32)


def signed_key(words: Iterable[str]) -> int:
    """A hash of the words of a name as a bigint."""
    key = name_key(words)
    return key - 2**64 if key >= 2**63 else key


class PostgresSearch:
    """Finds the candidates of one request, in one transaction."""

    def __init__(self, connection: "Connection", tool_filter: ToolFilter | None, query: ToolQuery) -> None:
        self._connection = connection
        self._filter, self._values = _conditions(tool_filter)
        self._words = QueryWords(self._statistics([query, *query.parts]))
        connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
        self._set_effort(_EFFORT)

    def subset(
        self, query: ToolQuery, depth: int, sample: Matrix, read: Callable[[str], Tool], accept: Any
    ) -> tuple[SubsetIndex, ToolQuery]:
        """The candidates of a request as an index of their own."""
        if 2 * depth > _EFFORT:
            self._set_effort(2 * depth)
        places = select_candidates(self, replace(query, past_calls=None), None, depth)
        if query.past_calls is not None:
            past = query.past_calls.tool.tolist()
            query_text = f"SELECT place FROM tools WHERE place = ANY(%(places)s) AND {self._filter}"  # noqa: S608
            places = np.union1d(places, self._places(query_text, places=past))
        rows = self._connection.execute(sql.ROWS, (places.tolist(),), binary=True).fetchall()
        if accept:
            rows = [row for row in rows if accept(read(row[1]))]
        found = [row[0] for row in rows]
        return self._index(rows, sample, read), locate_past_calls(query, found)

    def all_positions(self) -> Positions | None:
        """None: candidates are always chosen."""
        return None

    def nearest(self, vector: Matrix, k: int, visible: Mask | None = None) -> Positions:
        """Places of about the `k` tools most similar to a vector."""
        del visible
        return self._places(sql.NEAREST.format(filter=self._filter), vector=vector_text(vector), k=k)

    def best_by_words(self, tokens: Sequence[str], k: int, visible: Mask | None = None) -> Positions:
        """Places of about the `k` tools that score best by BM25T, best first."""
        del visible
        weights = self._words.weights(tokens)
        chosen: list[str] = []
        read = 0
        for word in sorted(weights, key=lambda word: self._words.frequency(word, "all")):
            read += self._words.frequency(word, "all")
            if chosen and read > _MAX_ROWS:
                break
            chosen.append(word)
        if not chosen:
            return np.empty(0, np.intp)
        places = self._places(
            sql.BY_WORDS.format(filter=self._filter),
            words=chosen,
            weights=[weights[word] * self._words.rarity(word, "all") for word in chosen],
            most=_MAX_ROWS,
            k=_RESCORED * k,
        )
        places.sort()
        rows = self._connection.execute(sql.ROWS, (places.tolist(),), binary=True).fetchall()
        documents = [all_tokens(_tokens(row)) for row in rows]
        scores = TokenScores("all", documents, self._words).scores(tokens)
        return places[top(scores, k)]

    def best_by_examples(self, vector: Matrix, k: int, visible: Mask | None = None) -> Positions:
        """Places of the `k` tools with the nearest examples."""
        del visible
        return self._places(sql.NEAREST_EXAMPLES.format(filter=self._filter), vector=vector_text(vector), k=k)

    def nearest_of_apps(
        self, vector: Matrix, apps: Collection[str], k: int, visible: Mask | None = None
    ) -> Positions:
        """Places of the `k` tools of some servers most similar to a vector."""
        del visible
        condition = f"{self._filter} AND app = ANY(%(apps)s)"
        query = sql.NEAREST.format(filter=condition)
        return self._places(query, vector=vector_text(vector), k=k, apps=list(apps))

    def find_named(self, spans: Iterable[Span]) -> list[int]:
        """Places of the tools whose name is one of these spans; of a frequent name, some of them."""
        keys = [signed_key(span) for span in spans]
        return self._places(sql.NAMED.format(filter=self._filter), keys=keys, k=_MAX_SAME_NAME).tolist()

    def _set_effort(self, candidates: int) -> None:
        """How many candidates the HNSW index compares; pgvector allows 1,000 at most."""
        query = "SELECT set_config('hnsw.ef_search', %s, true)"
        self._connection.execute(query, (str(min(1000, candidates)),))

    def _places(self, query: str, **values: Any) -> Positions:
        rows = self._connection.execute(cast("LiteralString", query), {**self._values, **values}).fetchall()
        return np.array([row[0] for row in rows], np.intp)

    def _statistics(self, queries: Sequence[ToolQuery]) -> WordStatistics:
        tokens = {word for query in queries for word in query.tokens}
        tokens |= {word for query in queries for span in query.spans for word in span}
        values = {"words": sorted(tokens), "spellings": searched_spellings(tokens)}
        rows = self._connection.execute(sql.FIND_WORDS, values).fetchall()
        tools, averages = self._connection.execute("SELECT tools, averages FROM state").fetchall()[0]
        words = {word: (counts, sums) for word, counts, sums in rows if counts[-1] > 0}
        return WordStatistics(tools, dict(zip(ALL_FIELDS, averages, strict=True)), words)

    def _index(self, rows: Sequence[Any], sample: Matrix, read: Callable[[str], Tool]) -> SubsetIndex:
        places, bodies = [row[0] for row in rows], {row[0]: row[1] for row in rows}
        tokens = list(map(_tokens, rows))
        tools = {place: read(bodies[place]) for place in places}
        names = [tuple(identifier_words(tools[place].name)) for place in places]
        documents = {field: [document[field] for document in tokens] for field in FIELDS}
        documents["all"] = list(map(all_tokens, tokens))
        numbers: dict[str, int] = {}
        app = np.array([numbers.setdefault(row[2], len(numbers)) for row in rows], np.int64)
        query = "SELECT app, count(*) FROM tools WHERE app = ANY(%s) GROUP BY app"
        sizes = dict(self._connection.execute(query, (list(numbers),)).fetchall())
        query = "SELECT place, vector FROM examples WHERE place = ANY(%s)"
        examples = self._connection.execute(query, (places,), binary=True).fetchall()
        width = sample.shape[1]
        return SubsetIndex(
            SubsetCatalog(places, lambda wanted: {place: tools[place] for place in wanted}),
            parse_vectors([row[6] for row in rows]) if rows else np.empty((0, width), np.float32),
            {field: TokenScores(field, documents[field], self._words) for field in ALL_FIELDS},
            name_index(names, MAX_NAME_WORDS),
            names,
            np.array([len(document["description"]) for document in tokens], np.float64),
            list(numbers),
            app,
            np.array([sizes[name] for name in numbers], np.float64),
            [frozenset(identifier_words(name)) for name in numbers],
            examples=parse_vectors([vector for _, vector in examples]) if examples else None,
            example_of=np.array([places.index(place) for place, _ in examples]) if examples else None,
            total=self._words.statistics.tools,
            sample=sample,
        )


def _tokens(row: Sequence[Any]) -> Tokens:
    return dict(zip(FIELDS, row[3:6], strict=True))


def _conditions(tool_filter: ToolFilter | None) -> tuple[str, dict[str, Any]]:
    """A filter as an SQL condition and its values."""
    conditions: list[str] = ["true"]
    values: dict[str, Any] = {}
    if tool_filter is not None:
        if tool_filter.servers is not None:
            conditions.append("app = ANY(%(servers)s)")
            values["servers"] = list(tool_filter.servers)
        for name in ("read_only", "destructive"):
            if getattr(tool_filter, name) is not None:
                conditions.append(f"{name} = %({name})s")
                values[name] = getattr(tool_filter, name)
    return " AND ".join(conditions), values
