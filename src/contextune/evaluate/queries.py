"""Requests with the tools they should find, one JSON object a line."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import cast

from contextune.errors import InvalidDataError
from contextune.tools import Catalog

_WANTED = ("relevant", "tools", "tool", "expected")
_NAMED = 100
"""How many faults of a file are named; the rest are counted."""
_HINTED = 20
"""For how many unknown names the nearest one is looked up: that takes a while in a large catalogue."""


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A request, and the ids of the tools that serve it; none where no tool does."""

    id: str
    text: str
    relevant: tuple[str, ...]


class _QueryError(Exception):
    """Why a line is of no use."""


def read_queries(file: Path, catalog: Catalog) -> list[LabelledQuery]:
    """The queries of a JSONL file; if any is of no use, all that are get named with line and reason."""
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")  # only these: JSON may hold other line ends
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{file}: is not UTF-8: {error}") from None
    names = _ToolNames(catalog)
    queries: dict[str, LabelledQuery] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            query = _query(line, f"line {number}", names)
            if query.id in queries:
                raise _QueryError(f"another query has the id {query.id!r} too: give each its own")
            queries[query.id] = query
        except _QueryError as fault:
            faults.append(f"line {number}: {fault}")
    if faults:
        raise InvalidDataError("\n  ".join(_summed(file, faults)))
    if not queries:
        raise InvalidDataError(f'{file}: holds no query; write {{"query": "…", "relevant": ["tool"]}} a line')
    return list(queries.values())


def _summed(file: Path, faults: Sequence[str]) -> Iterator[str]:
    count = len(faults)
    yield f"{file}: {count} line{'s' if count > 1 else ''} cannot be used:"
    yield from faults[:_NAMED]
    if count > _NAMED:
        yield f"and {count - _NAMED} more"


class _ToolNames:
    """Looks up the tools that queries name, each name once."""

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
        several = any(tool.name == name for tool in self._catalog)
        if several or len(self._reasons) >= _HINTED:
            return ""
        known = {tool.name: tool.id for tool in self._catalog} | {tool.id: tool.id for tool in self._catalog}
        near = get_close_matches(name, known, n=1)
        return f"; did you mean {known[near[0]]!r}?" if near else ""


def _query(line: str, name: str, names: _ToolNames) -> LabelledQuery:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _QueryError(f"is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise _QueryError('is no object: write {"query": "…", "relevant": ["tool"]}')
    fields = cast("dict[str, object]", value)
    text = fields.get("query")
    if not isinstance(text, str) or not text.strip():
        raise _QueryError('"query" must be what the user says, as text')
    given = fields.get("id", name)
    if isinstance(given, bool) or not isinstance(given, str | int) or given == "":
        raise _QueryError(f'"id" must be text or a whole number, not {given!r}')
    found, unknown = dict[str, None](), list[str]()
    for wanted in _wanted(fields):
        try:
            found[names.id(wanted)] = None
        except _QueryError as fault:
            unknown.append(str(fault))
    if unknown:
        raise _QueryError("; ".join(unknown))
    return LabelledQuery(str(given), text, tuple(found))


def _wanted(fields: dict[str, object]) -> list[str]:
    keys = [key for key in _WANTED if key in fields]
    if not keys:
        raise _QueryError('names no tool: add "relevant", a list; [] says that no tool fits')
    if len(keys) > 1:
        raise _QueryError(f'names its tools twice, as {" and ".join(map(repr, keys))}: keep "relevant"')
    value = fields[keys[0]]
    several = cast("list[object]", value) if isinstance(value, list) else [value]
    wanted = [name for name in several if isinstance(name, str) and name]
    if len(wanted) != len(several):
        raise _QueryError(f'"{keys[0]}" must be a list of tool names or ids, [] if no tool fits')
    return wanted
