"""Validation of tool definitions: name, description and a JSON Schema object as parameters."""

import json
import re
import unicodedata
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, cast

from contextune._internal.json_schema import InvalidSchemaError, SchemaBudgetError, check_schema
from contextune.errors import InvalidDataError, MissingExtraError
from contextune.tools.catalog import LoadedTools, RefusedTool
from contextune.types import Annotations, Tool

_MAX_DEPTH = 64
"""Nesting levels of one schema; a deeper one is malicious or broken."""
_MAX_SCHEMA = 500_000
"""Characters of one schema as JSON."""
_MAX_SIMPLE_SCHEMA = 50_000
"""Characters below which a schema cannot have too many subschemas."""
_MAX_NAME = 1_000
_MAX_TEXT = 100_000
"""Characters of a description."""
_MAX_REASON_LENGTH = 200
_SENTENCE = re.compile(r"(.+?[.!?。！？])(?<!\be\.g\.)(?<!\bi\.e\.)(?=\s+[^\sa-z]|\s*$)", re.DOTALL)
_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Characters without a glyph that are not format characters: joiners, fillers, the empty Braille pattern."""


_EAST_ASIAN = frozenset(
    ["CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"]
)
"""First words of the names of characters."""


class ToolCollector:
    """Collects tools and the reasons why others were refused; an invalid tool does not stop the rest."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._refused: list[RefusedTool] = []

    @contextmanager
    def attempt(self, name: str) -> Generator[None]:
        """Record an `InvalidDataError` raised in the block as the reason why `name` was refused."""
        try:
            yield
        except InvalidDataError as error:
            self._refused.append(RefusedTool(name, str(error)))

    def add(self, tool: Tool) -> None:
        """Add a tool with a new id."""
        if tool.id in self._tools:
            raise InvalidDataError("is listed more than once: the first one is used")
        self._tools[tool.id] = tool

    def result(self) -> LoadedTools:
        """The tools added and refused so far."""
        return LoadedTools(tuple(self._tools.values()), tuple(self._refused))


def as_mapping(value: object) -> Mapping[str, Any] | None:
    """The value if it is a mapping, else None."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: object) -> list[Any] | None:
    """The value if it is a list, else None."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def validate_name(value: object) -> str:
    """The name, unchanged; it must be a string without control or invisible characters.

    With those, two names that look the same could be different, or be read in another order.
    """
    if not isinstance(value, str) or not value.strip():
        raise InvalidDataError(f"has no name: it must be a non-empty string, not {_short(value)}")
    if len(value) > _MAX_NAME:
        raise InvalidDataError(f"the name {_short(value)} is longer than {_MAX_NAME:,} characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise InvalidDataError(f"the name {_short(value)} contains a control character")
    if (escaped := escape_invisible(value)) != value:
        raise InvalidDataError(f"the name '{escaped[:80]}' contains an invisible character")
    return value


def validate_server_name(value: object) -> str:
    """The name of a server, unchanged: as for a tool, and no word mixes scripts that have letters alike.

    "gіthub" with a Cyrillic і reads as another server. Words of Latin and East Asian letters are usual.
    """
    name = validate_name(value)
    for word in re.findall(r"[^\W\d_]+", name):
        scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word} - _EAST_ASIAN
        if len(scripts) > 1:
            raise InvalidDataError(
                f"the name {ascii(name)[:80]} mixes scripts in the word {ascii(word)[:40]}"
            )
    return name


def escape_invisible(text: str) -> str:
    """The text with escapes in place of control, bidirectional, zero-width and other invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(ascii(character)[1:-1] if _is_invisible(character) else character for character in text)


def _is_invisible(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        or character in _INVISIBLE
        or unicodedata.name(character, "").startswith("VARIATION SELECTOR")
    )


def validate_text(value: object, what: str) -> str:
    """A string, stripped; "" for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidDataError(f"its {what} must be a string, not {describe_type(value)}")
    if len(value) > _MAX_TEXT:
        raise InvalidDataError(f"its {what} is longer than {_MAX_TEXT:,} characters")
    return value.strip()


def validate_parameters(schema: object) -> dict[str, Any]:
    """A valid JSON Schema object, as plain JSON values."""
    source = as_mapping(schema)
    if source is None:
        raise InvalidDataError(f"its parameters must be a JSON Schema object, not {describe_type(schema)}")
    text = _to_json(source, "its parameters")
    if len(text) > _MAX_SCHEMA:
        raise InvalidDataError(f"its parameters have {len(text):,} characters: at most {_MAX_SCHEMA:,}")
    parameters: dict[str, Any] = json.loads(text)
    kind = parameters.setdefault("type", "object")
    if kind != "object":
        raise InvalidDataError(f"the type of its parameters must be 'object', not {_short(kind)}")
    properties = parameters.get("properties", {})
    if as_mapping(properties) is None:
        raise InvalidDataError(
            f"the properties of its parameters must be an object, not {describe_type(properties)}"
        )
    if len(text) > _MAX_SIMPLE_SCHEMA or not _is_obviously_valid(parameters):
        _check_schema(parameters)
    return parameters


def _to_json(value: Mapping[str, object], what: str) -> str:
    if not _is_within_depth(value, _MAX_DEPTH):
        raise InvalidDataError(f"{what} are nested more than {_MAX_DEPTH} levels deep")
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDataError(f"{what} cannot be written as JSON: {error}") from None


def parse_annotations(value: object) -> Annotations:
    """A tool's hints about its effects, by MCP's names or ours; values that are not booleans are ignored."""
    source = as_mapping(value) or {}
    hints = {ours: source.get(ours, source.get(theirs)) for ours, theirs in _HINTS.items()}
    return Annotations(**{name: hint if isinstance(hint, bool) else None for name, hint in hints.items()})


def first_sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    sentence = _SENTENCE.match(paragraph)
    return sentence[1] if sentence else paragraph


def describe_type(value: object) -> str:
    """The JSON type of a value with its article, for messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _is_within_depth(value: object, levels: int) -> bool:
    if levels == 0:
        return False
    members = as_mapping(value)
    children: Iterable[object] = members.values() if members is not None else as_list(value) or ()
    return all(_is_within_depth(child, levels - 1) for child in children)


_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


def _is_obviously_valid(schema: object) -> bool:
    """Fast path for simple schemas: validating against the meta-schema takes a hundred times as long."""
    keywords = as_mapping(schema)
    if keywords is None:
        return False
    for name, value in keywords.items():
        match name:
            case "type":
                valid = isinstance(value, str) and value in _TYPES
            case "title" | "description" | "format":
                valid = isinstance(value, str)
            case "default":
                valid = True
            case "properties":
                inner = as_mapping(value)
                valid = inner is not None and all(map(_is_obviously_valid, inner.values()))
            case "items":
                valid = _is_obviously_valid(value)
            case "additionalProperties":
                valid = isinstance(value, bool) or _is_obviously_valid(value)
            case "required":
                valid = _is_name_list(value)
            case "enum":
                valid = isinstance(value, list)
            case _:
                valid = False
        if not valid:
            return False
    return True


def _is_name_list(value: object) -> bool:
    names = as_list(value)
    return names is not None and all(isinstance(n, str) for n in names) and len(set(names)) == len(names)


def _check_schema(schema: Mapping[str, Any]) -> None:
    try:
        check_schema(schema)
    except MissingExtraError:
        return  # search does not need it, and plans, which do, say what to install
    except SchemaBudgetError as error:
        raise InvalidDataError(f"its parameters are over budget: {error}") from None
    except InvalidSchemaError as error:
        where = ".".join(map(str, error.path))
        message = str(error)
        if len(message) > _MAX_REASON_LENGTH:
            message = f"{message[:_MAX_REASON_LENGTH]}…"
        raise InvalidDataError(
            f"its parameters are not a valid JSON Schema: {f'{where}: ' if where else ''}{message}"
        ) from None
