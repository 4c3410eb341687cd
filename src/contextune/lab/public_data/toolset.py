"""Public benchmarks of tool retrieval in one form: a catalogue, and requests with the tools that serve them.

A folder holds `tools.jsonl` (or `.gz`) and `queries.jsonl`. None of this data is in the package.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from contextune._internal.compression import found_packed, read_packed
from contextune.errors import InvalidDataError
from contextune.types import Tool

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class LabelledRequest:
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
    queries: tuple[LabelledRequest, ...]
    ids: tuple[str, ...] = ()
    """What the data calls each tool: the same in every folder, as the names are not."""

    def split(self, *names: str) -> list[LabelledRequest]:
        """The requests of one or more parts of the data."""
        return [query for query in self.queries if query.split in names]


def read_toolset(folder: Path, name: str | None = None) -> Toolset:
    """The toolset in a folder; a bad line is refused by number."""
    rows = list(_each(folder / "tools.jsonl", lambda row: (str(row["id"]), uniform_tool(row))))
    place = {key: number for number, (key, _) in enumerate(rows)}
    queries = tuple(_each(folder / "queries.jsonl", lambda row: _query(row, place)))
    tools = tuple(distinct(tool for _, tool in rows))
    return Toolset(name or folder.name, tools, queries, tuple(key for key, _ in rows))


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


def distinct(tools: Iterable[Tool]) -> Iterator[Tool]:
    """Tools of one name and server, or of two servers of one name: each after the first gets a number."""
    seen: set[str] = set()
    for tool in tools:
        named, count = tool, 1
        while named.id in seen:
            count += 1
            named = replace(tool, name=f"{tool.name} {count}")
        seen.add(named.id)
        yield named


def _query(row: Mapping[str, Any], place: Mapping[str, int]) -> LabelledRequest:
    wanted: list[str] = row["relevant"]
    if unknown := next((name for name in wanted if name not in place), None):
        raise InvalidDataError(f"request {row['id']!r} names the unknown tool {unknown!r}")
    relevant = frozenset(place[name] for name in wanted)
    return LabelledRequest(str(row["id"]), str(row["query"]), relevant, str(row["split"]))


def _each(file: Path, make: Callable[[dict[str, Any]], _Made]) -> Iterator[_Made]:
    """What is made of every line."""
    for number, line in enumerate(_content(file).splitlines(), start=1):
        try:
            yield make(json.loads(line))
        except InvalidDataError as error:
            raise InvalidDataError(f"{file}: line {number}: {error}") from None
        except ValueError:
            raise InvalidDataError(f"{file}: line {number} is no JSON in UTF-8") from None
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidDataError(f"{file}: line {number} is not of the uniform form: {error}") from None


def _content(file: Path) -> bytes:
    try:
        return read_packed(found_packed(file))
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error}") from None
