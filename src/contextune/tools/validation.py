"""What a tool must be to be taken in: a name, words, and parameters that are a JSON Schema object."""

import json
import re
import unicodedata
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, cast

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools, RefusedTool
from contextune.types import Annotations, Tool

_DEEPEST = 64
"""Levels of lists and mappings in one schema; a document that goes deeper means no good."""
_LONGEST_REASON = 200
_SENTENCE = re.compile(r"(.+?[.!?。！？])(?<!\be\.g\.)(?<!\bi\.e\.)(?=\s+[^\sa-z]|\s*$)", re.DOTALL)
_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


class ToolCollector:
    """Takes tools in one after the other; one that is refused does not stop the rest."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._refused: list[RefusedTool] = []

    @contextmanager
    def each(self, name: str) -> Generator[None]:
        """What goes wrong inside is written down under `name`."""
        try:
            yield
        except InvalidDataError as error:
            self._refused.append(RefusedTool(name, str(error)))

    def add(self, tool: Tool) -> None:
        """Take a tool in, unless its id is taken."""
        if tool.id in self._tools:
            raise InvalidDataError("is listed more than once: the first is kept")
        self._tools[tool.id] = tool

    def loaded(self) -> LoadedTools:
        """All that came of it."""
        return LoadedTools(tuple(self._tools.values()), tuple(self._refused))


def mapping(value: object) -> Mapping[str, Any] | None:
    """The value, where it is what JSON calls an object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def items(value: object) -> list[Any] | None:
    """The value, where it is a list."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def checked_name(value: object) -> str:
    """A name somebody could type, as it is: it is what the tool is called by."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidDataError(f"has no name: {_short(value)} is none")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise InvalidDataError(f"the name {_short(value)} holds a control character")
    return value


def checked_text(value: object, what: str) -> str:
    """Words, or nothing."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidDataError(f"its {what} is no text but {kind_of(value)}")
    return value.strip()


def checked_parameters(schema: object) -> dict[str, Any]:
    """A JSON Schema object, as plain JSON values; what the reason is where it is none."""
    given = mapping(schema)
    if given is None:
        raise InvalidDataError(f"its parameters are {kind_of(schema)}, not a JSON Schema object")
    made = plain(given, "its parameters")
    kind = made.setdefault("type", "object")
    if kind != "object":
        raise InvalidDataError(f"the type of its parameters is {_short(kind)}, not 'object'")
    properties = made.get("properties", {})
    if mapping(properties) is None:
        raise InvalidDataError(f"the properties of its parameters are {kind_of(properties)}, not a mapping")
    if not _is_simple(made):
        _check_schema(made)
    return made


def plain(value: Mapping[str, object], what: str) -> dict[str, Any]:
    """A copy in plain JSON values."""
    if not _within(value, _DEEPEST):
        raise InvalidDataError(f"{what} are nested more than {_DEEPEST} levels deep")
    try:
        return cast("dict[str, Any]", json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDataError(f"{what} cannot be written as JSON: {error}") from None


def annotations_from(value: object) -> Annotations:
    """What a tool says of its effects, in MCP's words or ours. A hint is no promise: a broken one is none."""
    said = mapping(value) or {}
    found = {ours: said.get(ours, said.get(theirs)) for ours, theirs in _HINTS.items()}
    return Annotations(**{name: hint if isinstance(hint, bool) else None for name, hint in found.items()})


def first_sentence(text: str) -> str:
    """What a server says of itself, in short."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    found = _SENTENCE.match(paragraph)
    return found[1] if found else paragraph


def kind_of(value: object) -> str:
    """What JSON calls it, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _within(value: object, levels: int) -> bool:
    if levels == 0:
        return False
    named = mapping(value)
    parts: Iterable[object] = named.values() if named is not None else items(value) or ()
    return all(_within(part, levels - 1) for part in parts)


_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


def _is_simple(schema: object) -> bool:
    """Whether it is plainly right: most are, and asking the meta-schema takes a hundred times as long."""
    given = mapping(schema)
    if given is None:
        return False
    for name, value in given.items():
        match name:
            case "type":
                right = isinstance(value, str) and value in _TYPES
            case "title" | "description" | "format":
                right = isinstance(value, str)
            case "default":
                right = True
            case "properties":
                inner = mapping(value)
                right = inner is not None and all(map(_is_simple, inner.values()))
            case "items":
                right = _is_simple(value)
            case "additionalProperties":
                right = isinstance(value, bool) or _is_simple(value)
            case "required":
                right = _is_name_list(value)
            case "enum":
                right = isinstance(value, list)
            case _:
                right = False
        if not right:
            return False
    return True


def _is_name_list(value: object) -> bool:
    names = items(value)
    return names is not None and all(isinstance(n, str) for n in names) and len(set(names)) == len(names)


def _check_schema(schema: Mapping[str, Any]) -> None:
    import jsonschema
    from jsonschema.validators import validator_for

    try:
        checker = cast("Any", validator_for(schema, default=jsonschema.Draft202012Validator))
        checker.check_schema(schema)
    except jsonschema.SchemaError as error:
        where = ".".join(map(str, error.absolute_path))
        message = error.message
        if len(message) > _LONGEST_REASON:
            message = f"{message[:_LONGEST_REASON]}…"
        raise InvalidDataError(
            f"its parameters are no valid JSON Schema: {f'{where}: ' if where else ''}{message}"
        ) from None
    except Exception as error:  # a strange `$schema` or `$ref` makes the checker itself stumble
        raise InvalidDataError(
            f"its parameters cannot be checked as JSON Schema: {type(error).__name__}"
        ) from None
