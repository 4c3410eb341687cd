"""Tools one a line: in our own form, or in the uniform one of public tool-retrieval data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.documents import parse_json, read_text
from contextune.tools.schemas import called, checked_app, tool_from
from contextune.tools.validation import ToolCollector, checked_name, checked_text, items, kind_of, mapping
from contextune.types import Tool

_KINDS: dict[str, dict[str, Any]] = {
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
"""How such data names its types; what is not here may be anything."""


def load_jsonl(path: str | Path, app: str = "") -> LoadedTools:
    """The tools of a file of JSON Lines, packed (.gz) or not; `app` is for those that name none."""
    taking = ToolCollector()
    for number, line in enumerate(read_text(Path(path)).splitlines(), 1):
        if not line.strip():
            continue
        try:
            given = parse_json(line)
        except ValueError as error:
            with taking.each(f"line {number}"):
                raise InvalidDataError(f"is no JSON: {error}") from None
            continue
        tool = mapping(given)
        owner = _owner(tool or {}, app)
        with taking.each(called(given, owner, f"line {number}")):
            if tool is None:
                raise InvalidDataError(f"is {kind_of(given)}, not a tool")
            taking.add(_tool(tool, owner))
    return taking.loaded()


def tool_json(tool: Tool) -> dict[str, Any]:
    """A tool as one line of such a file has it; what is empty is left out."""
    said = {name: hint for name, hint in asdict(tool.annotations).items() if hint is not None}
    whole: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "app": tool.app,
        "title": tool.title,
        "about": tool.about,
        "parameters": dict(tool.parameters),
        "annotations": said,
        "examples": list(tool.examples),
    }
    kept = ("name", "description", "parameters")
    return {name: value for name, value in whole.items() if value or name in kept}


def _owner(given: Mapping[str, Any], app: str) -> str:
    """In the uniform form, an application is what is called a tool there."""
    named = given.get("tool")
    return named if isinstance(named, str) and named and items(given.get("parameters")) is not None else app


def _tool(given: Mapping[str, Any], app: str) -> Tool:
    parameters = items(given.get("parameters"))
    if parameters is None:
        return tool_from({"parameters": None, **given}, app)  # one that says nothing takes nothing
    return Tool(
        checked_name(given.get("name")),
        checked_text(given.get("description"), "description"),
        app=checked_app(app),
        parameters=_schema(parameters),
        about=checked_text(given.get("tool_description"), "tool_description"),
    )


def _schema(parameters: Sequence[object]) -> dict[str, Any]:
    properties: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    for given in parameters:
        parameter = mapping(given)
        if parameter is None:
            raise InvalidDataError(f"one of its parameters is {kind_of(given)}, not a mapping")
        name = parameter.get("name")
        if not isinstance(name, str) or not name:
            raise InvalidDataError("one of its parameters has no name")
        about = checked_text(parameter.get("description"), f"description of {name!r}")
        schema = dict(_KINDS.get(str(parameter.get("type", "")).casefold(), {}))
        properties.setdefault(name, {**schema, "description": about} if about else schema)
        if parameter.get("required") is True and name not in required:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}
