"""Toolbox files: APIs grouped by application, in YAML (*Context Tuning*, appendix A.3)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

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


class _StrictModel(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


class _Argument(_StrictModel):
    type: Literal["string", "integer", "datetime", "date", "list"] = "string"
    description: str = ""
    required: bool = False
    free_text: bool = False

    def schema_object(self) -> dict[str, Any]:
        """The argument as JSON Schema; `x-free-text` marks text that the assistant writes itself."""
        schema = {**_SCHEMAS[self.type], "description": self.description}
        return {**schema, "x-free-text": True} if self.free_text else schema


class _Api(_StrictModel):
    api: str = Field(min_length=1)
    description: str
    arguments: dict[str, _Argument]


class _App(_StrictModel):
    app: str = Field(min_length=1)
    apis: list[_Api]


def read_toolbox(file: Path) -> list[Tool]:
    """Read the tools of a toolbox file; an error names the file, the field and the reason."""
    try:
        apps = TypeAdapter(list[_App]).validate_python(_read_yaml(file))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidDataError(f"{file}: {where}: {first['msg']}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidDataError(f"{file}: not readable as YAML: {error}") from None
    return list(_to_tools(apps))


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


def _to_tools(apps: list[_App]) -> Iterator[Tool]:
    for app in apps:
        for api in app.apis:
            parameters = {
                "type": "object",
                "properties": {name: argument.schema_object() for name, argument in api.arguments.items()},
                "required": [name for name, argument in api.arguments.items() if argument.required],
                "additionalProperties": False,
            }
            yield Tool(api.api, api.description, app=app.app, parameters=parameters)
