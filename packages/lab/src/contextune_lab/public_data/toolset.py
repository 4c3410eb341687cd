"""Public benchmarks in a uniform format: a catalogue, and requests with their relevant tools.

A folder holds `tools.jsonl` (or `.gz`) and `queries.jsonl`. The data is not part of the package.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from contextune._internal.assets import find_compressed, read_decompressed
from contextune.errors import InvalidDataError
from contextune.types import Tool

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class LabelledRequest:
    """A request, the places of its relevant tools, and its split."""

    id: str
    text: str
    relevant: frozenset[int]
    split: str


@dataclass(frozen=True, eq=False)
class Toolset:
    """A catalogue with labelled requests."""

    name: str
    tools: tuple[Tool, ...]
    queries: tuple[LabelledRequest, ...]
    ids: tuple[str, ...] = ()
    """The data's tool ids, the same in every folder; names are not."""

    def split(self, *names: str) -> list[LabelledRequest]:
        """The requests of some splits."""
        return [query for query in self.queries if query.split in names]


def read_toolset(folder: Path, name: str | None = None) -> Toolset:
    """Read the toolset in a folder; errors name the line."""
    rows = list(_read_rows(folder / "tools.jsonl", lambda row: (str(row["id"]), tool_from_row(row))))
    place = {key: number for number, (key, _) in enumerate(rows)}
    queries = tuple(_read_rows(folder / "queries.jsonl", lambda row: _query(row, place)))
    tools = tuple(distinct_names(tool for _, tool in rows))
    return Toolset(name or folder.name, tools, queries, tuple(key for key, _ in rows))


def tool_from_row(row: Mapping[str, Any]) -> Tool:
    """A tool in the uniform format: parameters as a list, the server under `tool`."""
    parameters: list[dict[str, Any]] = row.get("parameters") or []
    properties = {
        str(parameter["name"]): {
            "type": str(parameter.get("type") or "string"),
            "description": str(parameter.get("description") or ""),
        }
        for parameter in parameters
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": [str(parameter["name"]) for parameter in parameters if parameter.get("required")],
    }
    name, server = str(row["name"]).strip(), str(row.get("tool") or "").strip()
    return Tool(
        name or server,
        str(row.get("description") or ""),
        app="" if server == name else server,
        parameters=schema,
        about=str(row.get("tool_description") or ""),
    )


def distinct_names(tools: Iterable[Tool]) -> Iterator[Tool]:
    """Make tool ids unique: duplicates get a number appended to their name."""
    seen: set[str] = set()
    for tool in tools:
        renamed, count = tool, 1
        while renamed.id in seen:
            count += 1
            renamed = replace(tool, name=f"{tool.name} {count}")
        seen.add(renamed.id)
        yield renamed


def _query(row: Mapping[str, Any], place: Mapping[str, int]) -> LabelledRequest:
    tool_ids: list[str] = row["relevant"]
    if unknown := next((name for name in tool_ids if name not in place), None):
        raise InvalidDataError(f"request {row['id']!r} names unknown tool {unknown!r}")
    relevant = frozenset(place[name] for name in tool_ids)
    return LabelledRequest(str(row["id"]), str(row["query"]), relevant, str(row["split"]))


def _read_rows(file: Path, parse: Callable[[dict[str, Any]], _Value]) -> Iterator[_Value]:
    """Parse every line."""
    for number, line in enumerate(_content(file).splitlines(), start=1):
        try:
            yield parse(json.loads(line))
        except InvalidDataError as error:
            raise InvalidDataError(f"{file}: line {number}: {error}") from None
        except ValueError:
            raise InvalidDataError(f"{file}: line {number} is not valid UTF-8 JSON") from None
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidDataError(f"{file}: line {number} is not in the uniform format: {error}") from None


def _content(file: Path) -> bytes:
    try:
        return read_decompressed(find_compressed(file))
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error}") from None
