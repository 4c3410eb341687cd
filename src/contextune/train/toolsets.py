"""Public benchmarks of tool retrieval in one form: a catalogue, and requests with the tools that serve them.

A folder holds `tools.jsonl` (or `.gz`) and `queries.jsonl`. None of this data is in the package.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError
from contextune.types import Tool


@dataclass(frozen=True, slots=True)
class ToolQuery:
    """A request, the places of the tools that serve it, and the part of the data it is in."""

    id: str
    text: str
    relevant: frozenset[int]
    split: str


@dataclass(frozen=True, eq=False)
class Toolset:
    """A catalogue with requests to it."""

    name: str
    tools: tuple[Tool, ...]
    queries: tuple[ToolQuery, ...]

    def split(self, *names: str) -> list[ToolQuery]:
        """The requests of one or more parts of the data."""
        return [query for query in self.queries if query.split in names]


def read_toolset(folder: Path, name: str | None = None) -> Toolset:
    """The toolset in a folder."""
    rows = list(_lines(folder / "tools.jsonl"))
    place = {str(row["id"]): number for number, row in enumerate(rows)}
    queries = [_query(row, place, folder) for row in _lines(folder / "queries.jsonl")]
    return Toolset(name or folder.name, tuple(_distinct(map(uniform_tool, rows))), tuple(queries))


def uniform_tool(row: Mapping[str, Any]) -> Tool:
    """A tool of the uniform form: parameters as a list, the server under `tool`."""
    parameters: list[dict[str, Any]] = row.get("parameters") or []
    properties = {
        str(one["name"]): {
            "type": str(one.get("type") or "string"),
            "description": str(one.get("description") or ""),
        }
        for one in parameters
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": [str(one["name"]) for one in parameters if one.get("required")],
    }
    name, server = str(row["name"]).strip(), str(row.get("tool") or "").strip()
    return Tool(
        name or server,
        str(row.get("description") or ""),
        app="" if server == name else server,
        parameters=schema,
        about=str(row.get("tool_description") or ""),
    )


def _distinct(tools: Iterator[Tool]) -> Iterator[Tool]:
    """Some servers have two endpoints of one name: each after the first gets a number."""
    seen: dict[str, int] = {}
    for tool in tools:
        count = seen[tool.id] = seen.get(tool.id, 0) + 1
        yield tool if count == 1 else replace(tool, name=f"{tool.name} {count}")


def _query(row: Mapping[str, Any], place: Mapping[str, int], folder: Path) -> ToolQuery:
    try:
        relevant = frozenset(place[name] for name in row["relevant"])
    except KeyError as error:
        raise InvalidDataError(f"{folder}: query {row.get('id')!r} names the unknown tool {error}") from None
    return ToolQuery(str(row["id"]), str(row["query"]), relevant, str(row["split"]))


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    packed = file.with_name(file.name + ".gz")
    try:
        content = file.read_bytes() if file.exists() else gzip.decompress(packed.read_bytes())
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error}") from None
    for number, line in enumerate(content.decode().splitlines(), start=1):
        try:
            yield json.loads(line)
        except ValueError:
            raise InvalidDataError(f"{file}: line {number} is no JSON") from None
