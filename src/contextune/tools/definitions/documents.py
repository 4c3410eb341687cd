"""Read a JSON or YAML file as plain JSON values, with limits on size and depth."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

import yaml

from contextune._internal.assets import read_decompressed
from contextune.errors import InvalidDataError
from contextune.tools.definitions.validation import describe_type

_MAX_VALUES = 5_000_000
"""Values in one document with YAML aliases expanded; more is an alias bomb."""

_MAX_DEPTH = 1_000
"""Nesting levels; the YAML parser in C overflows the stack on deeper documents."""
_INDENTED = re.compile(rf"^(?: {{{_MAX_DEPTH},}}|(?:[-?:] +){{{_MAX_DEPTH},}})", re.MULTILINE)

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _YamlLoader(_Base):
    """YAML 1.2 with JSON's types: `no` and `2024-05-16` are strings, not a boolean and a date."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012  # as in the base class


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("merge", "<<", "<"),
):
    cast("Any", _YamlLoader).add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), list(_first)
    )


def read_text(path: Path) -> str:
    """The text of a file, decompressed if it is a .gz or .xz."""
    try:
        return read_decompressed(path).decode("utf-8-sig")
    except OSError as error:
        raise InvalidDataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidDataError(f"{path}: is not UTF-8 text") from None


def read_document(path: Path) -> object:
    """The content of a JSON or YAML file."""
    text = read_text(path)
    try:
        return parse_json(text)
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "[") and path.suffix not in (".yaml", ".yml"):
            raise InvalidDataError(f"{path}: is not valid JSON: {error}") from None
    if _too_deep(text):
        raise InvalidDataError(f"{path}: is nested more than {_MAX_DEPTH:,} deep")
    try:
        return _YamlToJson().convert(yaml.load(text, _YamlLoader))  # noqa: S506  # derived from a safe loader
    except yaml.YAMLError as error:
        raise InvalidDataError(f"{path}: is not valid YAML: {_summary(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidDataError(f"{path}: {error}") from None


def _too_deep(text: str) -> bool:
    """Whether YAML may be nested too deep; counts brackets in strings too, where they are balanced."""
    depth = 0
    for bracket in re.finditer(r"[][{}]", text):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > _MAX_DEPTH:
            return True
    return _INDENTED.search(text) is not None


def parse_json(text: str) -> object:
    """Parse strict JSON; raises ValueError."""
    try:
        return cast("object", json.loads(text, parse_constant=_refuse_constant))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _summary(error: yaml.YAMLError) -> str:
    mark: Any = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", "") or type(error).__name__)
    return f"line {mark.line + 1}: {problem}" if mark else problem


class _YamlToJson:
    """Converts YAML values to JSON values: keys become strings, aliased values are counted at each use."""

    def __init__(self) -> None:
        self._converted: dict[int, tuple[object, int]] = {}
        self._open: set[int] = set()

    def convert(self, value: object) -> object:
        return self._convert(value)[0]

    def _convert(self, value: object) -> tuple[object, int]:
        """The converted value, and the number of values in it."""
        if value is None or isinstance(value, str | int | float):
            return value, 1
        if not isinstance(value, Mapping | list):
            raise ValueError(f"contains {describe_type(value)}, which JSON does not support")
        key = id(cast("object", value))
        if key in self._converted:
            return self._converted[key]
        if key in self._open:
            raise ValueError("contains an alias to itself")
        self._open.add(key)
        result: object
        if isinstance(value, Mapping):
            members = {
                _key(name): self._convert(part) for name, part in cast("dict[object, object]", value).items()
            }
            result = {name: part for name, (part, _) in members.items()}
            size = sum(n for _, n in members.values())
        else:
            elements = [self._convert(part) for part in cast("list[object]", value)]
            result = [part for part, _ in elements]
            size = sum(n for _, n in elements)
        if size >= _MAX_VALUES:
            raise ValueError(f"contains more than {_MAX_VALUES:,} values with its aliases expanded")
        self._open.discard(key)
        self._converted[key] = result, size + 1
        return self._converted[key]


def _key(name: object) -> str:
    if name is None or isinstance(name, bool):
        return json.dumps(name)
    return str(name)
