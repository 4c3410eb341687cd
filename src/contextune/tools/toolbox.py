"""Toolbox files: APIs grouped by application, in YAML (*Context Tuning*, appendix A.3)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import yaml

from contextune._internal.assets import asset
from contextune.errors import InvalidDataError
from contextune.types import Tool

_SCHEMAS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "datetime": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "list": {"type": "array", "items": {"type": "string"}},
}


_FLAGS = ("required", "free_text")


def read_toolbox(file: Path) -> list[Tool]:
    """Read the tools of a toolbox file; an error names the file, the field and the reason."""
    try:
        content = _read_yaml(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidDataError(f"{file}: not readable as YAML: {error}") from None
    try:
        return list(_read_apps(content))
    except InvalidDataError as error:
        raise InvalidDataError(f"{file}: {error}") from None


def bundled_toolbox() -> list[Tool]:
    """The 59 bundled APIs, each with example requests."""
    examples: dict[str, list[str]] = _read_yaml(asset("asked.yaml"))
    return [
        replace(tool, examples=tuple(examples[tool.name])) for tool in read_toolbox(asset("toolbox.yaml"))
    ]


def _read_yaml(file: Path) -> Any:
    """The content of a file, by libyaml where PyYAML has it: ten times as fast."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_text(encoding="utf-8"), loader)  # noqa: S506  # both loaders are safe ones


def _read_apps(content: object) -> Iterator[Tool]:
    for number, value in enumerate(_list(content, "")):
        app = _members(value, str(number), ("app", "apis"))
        name = _text(app["app"], f"{number}.app", empty=False)
        for place, entry in enumerate(_list(app["apis"], f"{number}.apis")):
            yield _read_api(entry, f"{number}.apis.{place}", name)


def _read_api(value: object, where: str, app: str) -> Tool:
    api = _members(value, where, ("api", "description", "arguments"))
    arguments = _mapping(api["arguments"], f"{where}.arguments")
    schemas: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    for name, entry in arguments.items():
        place = f"{where}.arguments.{name}"
        argument = _members(entry, place, (), ("type", "description", *_FLAGS))
        schemas[_text(name, place)] = _schema(argument, place)
        if argument.get("required"):
            required.append(name)
    parameters = {
        "type": "object",
        "properties": schemas,
        "required": required,
        "additionalProperties": False,
    }
    name = _text(api["api"], f"{where}.api", empty=False)
    return Tool(name, _text(api["description"], f"{where}.description"), app=app, parameters=parameters)


def _schema(argument: Mapping[str, Any], where: str) -> dict[str, Any]:
    """An argument as JSON Schema; `x-free-text` marks text that the assistant writes itself."""
    kind = argument.get("type", "string")
    if not isinstance(kind, str) or kind not in _SCHEMAS:
        raise InvalidDataError(f"{where}.type: Input should be one of {', '.join(_SCHEMAS)}")
    for flag in _FLAGS:
        if not isinstance(argument.get(flag, False), bool):
            raise InvalidDataError(f"{where}.{flag}: Input should be true or false")
    description = _text(argument.get("description", ""), f"{where}.description")
    schema = {**_SCHEMAS[kind], "description": description}
    return {**schema, "x-free-text": True} if argument.get("free_text") else schema


def _members(
    value: object, where: str, required: Sequence[str], optional: Sequence[str] = ()
) -> Mapping[str, Any]:
    """A mapping with exactly these fields."""
    members = _mapping(value, where)
    for name in required:
        if name not in members:
            raise InvalidDataError(f"{where}.{name}: Field required")
    for name in members:
        if name not in required and name not in optional:
            raise InvalidDataError(f"{where}.{name}: Unknown field")
    return members


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidDataError(f"{where}: Input should be a mapping")
    return cast("Mapping[str, Any]", value)


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise InvalidDataError(f"{where}: Input should be a valid list".removeprefix(": "))
    return cast("list[object]", value)


def _text(value: object, where: str, *, empty: bool = True) -> str:
    if not isinstance(value, str) or not (value or empty):
        raise InvalidDataError(f"{where}: Input should be a {'' if empty else 'non-empty '}text")
    return value
