"""JSON Lines → tools: Contextune's own format, or the uniform format of public tool-retrieval datasets."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.definitions.documents import parse_json, read_text
from contextune.tools.definitions.schemas import display_name, tool_from_schema, validate_app
from contextune.tools.definitions.validation import (
    ToolCollector,
    as_list,
    as_mapping,
    describe_type,
    validate_name,
    validate_text,
)
from contextune.types import Tool

_TYPE_SCHEMAS: dict[str, dict[str, Any]] = {
    name: {"type": kind}
    for kind, names in {
        "string": ("string", "str", "text", "enum", "time (24-hour hh:mm)"),
        "number": ("number", "float", "double"),
        "integer": ("integer", "int"),
        "boolean": ("boolean", "bool"),
        "array": ("array", "list", "tuple"),
        "object": ("object", "dict"),
    }.items()
    for name in names
} | {"date (yyyy-mm-dd)": {"type": "string", "format": "date"}}
"""Type names in public datasets; other types get an empty schema."""


def load_jsonl(path: str | Path, app: str = "") -> LoadedTools:
    """Load a JSON Lines file, which may be compressed (.gz); `app` is for tools that do not name one."""
    collector = ToolCollector()
    for number, line in enumerate(read_text(Path(path)).splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = parse_json(line)
        except ValueError as error:
            with collector.attempt(f"line {number}"):
                raise InvalidDataError(f"is not valid JSON: {error}") from None
            continue
        entry = as_mapping(value)
        owner = _owner(entry or {}, app)
        with collector.attempt(display_name(value, owner, f"line {number}")):
            if entry is None:
                raise InvalidDataError(f"is {describe_type(value)}, not a tool")
            collector.add(_tool(entry, owner))
    return collector.result()


def tool_to_json(tool: Tool) -> dict[str, Any]:
    """A tool as an object of a JSON Lines file, without empty fields."""
    annotations = {name: hint for name, hint in asdict(tool.annotations).items() if hint is not None}
    fields: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "app": tool.app,
        "title": tool.title,
        "about": tool.about,
        "parameters": dict(tool.parameters),
        "annotations": annotations,
        "examples": list(tool.examples),
    }
    required = ("name", "description", "parameters")
    return {name: value for name, value in fields.items() if value or name in required}


def _owner(entry: Mapping[str, Any], app: str) -> str:
    """The uniform format calls an application a `tool`."""
    name = entry.get("tool")
    is_uniform = as_list(entry.get("parameters")) is not None
    return name if is_uniform and isinstance(name, str) and name else app


def _tool(entry: Mapping[str, Any], app: str) -> Tool:
    parameters = as_list(entry.get("parameters"))
    if parameters is None:
        return tool_from_schema({"parameters": None, **entry}, app)  # `parameters` is optional
    return Tool(
        validate_name(entry.get("name")),
        validate_text(entry.get("description"), "description"),
        app=validate_app(app),
        parameters=_schema(parameters),
        about=validate_text(entry.get("tool_description"), "tool_description"),
    )


def _schema(parameters: Sequence[object]) -> dict[str, Any]:
    properties: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    for entry in parameters:
        parameter = as_mapping(entry)
        if parameter is None:
            raise InvalidDataError(f"one of its parameters is {describe_type(entry)}, not an object")
        name = parameter.get("name")
        if not isinstance(name, str) or not name:
            raise InvalidDataError("one of its parameters has no name")
        about = validate_text(parameter.get("description"), f"description of {name!r}")
        schema = dict(_TYPE_SCHEMAS.get(str(parameter.get("type", "")).casefold(), {}))
        properties.setdefault(name, {**schema, "description": about} if about else schema)
        if parameter.get("required") is True and name not in required:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}
