"""A file → the JSON value it holds, be it written as JSON or as YAML."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

import yaml

from contextune._internal.compression import read_packed
from contextune.errors import InvalidDataError
from contextune.tools.validation import kind_of

_LARGEST = 5_000_000
"""Values in one document, aliases written out: more is a bomb, no description of tools."""

_DEEPEST = 1_000
"""Brackets within brackets: the reader in C would go on until the process dies of it."""
_INDENTED = re.compile(rf"^(?: {{{_DEEPEST},}}|(?:[-?:] +){{{_DEEPEST},}})", re.MULTILINE)

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _YamlLoader(_Base):
    """YAML 1.2 as JSON sees it: `no` and `2024-05-16` are text, where YAML 1.1 has a boolean and a date."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012  # the base class has it so


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
    """The text of a file, unpacked if it is a .gz or .xz."""
    try:
        return read_packed(path).decode("utf-8-sig")
    except OSError as error:
        raise InvalidDataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidDataError(f"{path}: is no text in UTF-8") from None


def read_document(path: Path) -> object:
    """The one value in a file of JSON or YAML."""
    text = read_text(path)
    try:
        return parse_json(text)
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "[") and path.suffix not in (".yaml", ".yml"):
            raise InvalidDataError(f"{path}: is no readable JSON: {error}") from None
    if _too_deep(text):
        raise InvalidDataError(f"{path}: is nested more than {_DEEPEST:,} deep")
    try:
        return _PlainValues().made(yaml.load(text, _YamlLoader))  # noqa: S506  # made from the safe one
    except yaml.YAMLError as error:
        raise InvalidDataError(f"{path}: is no readable YAML: {_briefly(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidDataError(f"{path}: {error}") from None


def _too_deep(text: str) -> bool:
    """Whether it might be; brackets in texts are counted too, of which nobody leaves a thousand open."""
    depth = 0
    for bracket in re.finditer(r"[][{}]", text):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > _DEEPEST:
            return True
    return _INDENTED.search(text) is not None


def parse_json(text: str) -> object:
    """JSON as the standard has it, or a ValueError."""
    try:
        return cast("object", json.loads(text, parse_constant=_no_constant))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _briefly(error: yaml.YAMLError) -> str:
    mark: Any = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", "") or type(error).__name__)
    return f"line {mark.line + 1}: {problem}" if mark else problem


class _PlainValues:
    """Writes YAML's values as JSON's: every key a text, aliases counted as often as they stand."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, int]] = {}
        self._open: set[int] = set()

    def made(self, value: object) -> object:
        return self._made(value)[0]

    def _made(self, value: object) -> tuple[object, int]:
        if value is None or isinstance(value, str | int | float):
            return value, 1
        if not isinstance(value, Mapping | list):
            raise ValueError(f"holds {kind_of(value)}, which JSON has not")
        key = id(cast("object", value))
        if key in self._known:
            return self._known[key]
        if key in self._open:
            raise ValueError("holds an alias within itself")
        self._open.add(key)
        made: object
        if isinstance(value, Mapping):
            pairs = {
                _key(name): self._made(part) for name, part in cast("dict[object, object]", value).items()
            }
            made, size = {name: part for name, (part, _) in pairs.items()}, sum(n for _, n in pairs.values())
        else:
            parts = [self._made(part) for part in cast("list[object]", value)]
            made, size = [part for part, _ in parts], sum(n for _, n in parts)
        if size >= _LARGEST:
            raise ValueError(f"holds more than {_LARGEST:,} values once its aliases are written out")
        self._open.discard(key)
        self._known[key] = made, size + 1
        return self._known[key]


def _key(name: object) -> str:
    if name is None or isinstance(name, bool):
        return json.dumps(name)
    return str(name)
