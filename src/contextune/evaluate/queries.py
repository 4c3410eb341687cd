"""Labelled queries in JSON Lines: a request and the tools that serve it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import cast

from contextune.errors import InvalidDataError
from contextune.tools import Catalog

_RELEVANT_KEYS = ("relevant", "tools", "tool", "expected")
_MAX_ERRORS = 100
"""Errors of a file that are listed; the rest are counted."""
_MAX_HINTS = 20
"""Unknown names for which a similar name is suggested, which is slow in a large catalogue."""


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A request and the ids of the tools that serve it, if any."""

    id: str
    text: str
    relevant: tuple[str, ...]


class _QueryError(Exception):
    """Why a line is invalid."""


def read_queries(file: Path, catalog: Catalog) -> list[LabelledQuery]:
    """Read the queries of a JSONL file; an error lists every invalid line with its reason."""
    try:
        lines = file.read_text(encoding="utf-8-sig").split(
            "\n"
        )  # not splitlines: JSON strings may contain other line separators
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{file}: is not UTF-8: {error}") from None
    names = _ToolNames(catalog)
    queries: dict[str, LabelledQuery] = {}
    errors: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            query = _query(line, f"line {number}", names)
            if query.id in queries:
                raise _QueryError(f"the id {query.id!r} is used by another query: ids must be unique")
            queries[query.id] = query
        except _QueryError as error:
            errors.append(f"line {number}: {error}")
    if errors:
        raise InvalidDataError("\n  ".join(_summarize(file, errors)))
    if not queries:
        raise InvalidDataError(
            f'{file}: contains no query: write one {{"query": "…", "relevant": ["tool"]}} per line'
        )
    return list(queries.values())


def _summarize(file: Path, errors: Sequence[str]) -> Iterator[str]:
    count = len(errors)
    yield f"{file}: {count} invalid line{'s' if count > 1 else ''}:"
    yield from errors[:_MAX_ERRORS]
    if count > _MAX_ERRORS:
        yield f"and {count - _MAX_ERRORS} more"


class _ToolNames:
    """Resolves tool names to ids, with a cache."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._ids: dict[str, str] = {}
        self._reasons: dict[str, str] = {}

    def id(self, name: str) -> str:
        if name in self._reasons:
            raise _QueryError(self._reasons[name])
        if name not in self._ids:
            try:
                self._ids[name] = self._catalog.tool(name).id
            except InvalidDataError as error:
                self._reasons[name] = f"{error}{self._hint(name)}"
                raise _QueryError(self._reasons[name]) from None
        return self._ids[name]

    def _hint(self, name: str) -> str:
        is_ambiguous = any(tool.name == name for tool in self._catalog)
        if is_ambiguous or len(self._reasons) >= _MAX_HINTS:
            return ""
        ids = {tool.name: tool.id for tool in self._catalog} | {tool.id: tool.id for tool in self._catalog}
        similar = get_close_matches(name, ids, n=1)
        return f"; did you mean {ids[similar[0]]!r}?" if similar else ""


def _query(line: str, default_id: str, names: _ToolNames) -> LabelledQuery:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _QueryError(f"is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise _QueryError('is not a JSON object: write {"query": "…", "relevant": ["tool"]}')
    fields = cast("dict[str, object]", value)
    text = fields.get("query")
    if not isinstance(text, str) or not text.strip():
        raise _QueryError('"query" must be a non-empty string')
    query_id = fields.get("id", default_id)
    if isinstance(query_id, bool) or not isinstance(query_id, str | int) or query_id == "":
        raise _QueryError(f'"id" must be a string or an integer, not {query_id!r}')
    relevant, errors = dict[str, None](), list[str]()
    for name in _relevant_names(fields):
        try:
            relevant[names.id(name)] = None
        except _QueryError as error:
            errors.append(str(error))
    if errors:
        raise _QueryError("; ".join(errors))
    return LabelledQuery(str(query_id), text, tuple(relevant))


def _relevant_names(fields: dict[str, object]) -> list[str]:
    keys = [key for key in _RELEVANT_KEYS if key in fields]
    if not keys:
        raise _QueryError('has no "relevant": add a list of tools, [] if no tool fits')
    if len(keys) > 1:
        raise _QueryError(f'has both {" and ".join(map(repr, keys))}: keep "relevant"')
    value = fields[keys[0]]
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    names = [name for name in values if isinstance(name, str) and name]
    if len(names) != len(values):
        raise _QueryError(f'"{keys[0]}" must be a list of tool names or ids, [] if no tool fits')
    return names
