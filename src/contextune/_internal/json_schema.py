r"""JSON Schema validation of untrusted schemas by `jsonschema-rs`: in bounded time, without network access.

Schemas come from whatever server a user connects to, so:

- References are never fetched; one that leads outside the schema is an error.
- Patterns run on a linear-time regex engine with ECMA-262 semantics (`\w` and `\d` are ASCII). Look-around
  and back-references need a backtracking engine, whose time cannot be bounded. Such patterns, patterns that
  compile to more than 100 KB, and all patterns for a value with more than 10,000 characters of text are not
  checked. The server that receives the value validates it as well.
- The number of subschemas a value meets is computed first (`schema_cost`); over budget, nothing is run.
- For a value that meets many subschemas only the first violation is reported: each one is an object.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, cast

from contextune._internal.schema_cost import (
    DATA_KEYWORDS,
    MAX_DEPTH,
    SCHEMA_MAPS,
    InvalidSchemaError,
    SchemaBudgetError,
    SchemaGraph,
)
from contextune.errors import InvalidDataError, MissingExtraError

__all__ = [
    "CompiledSchema",
    "FormatCheck",
    "InvalidSchemaError",
    "SchemaBudgetError",
    "SchemaViolation",
    "check_schema",
]

MAX_TEXT = 10_000
"""Characters of text in a value that patterns are checked on."""
_MAX_PATTERN = 2000
_MAX_COMPILED_PATTERN = 100_000
"""Bytes. A worst-case pattern of this size takes 0.1 s for `MAX_TEXT` characters."""
_MAX_WORK = 2_000_000
"""Subschemas per path into a value, times the number of its nodes: below a second."""
_MAX_REPORTED_WORK = 50_000
"""The same product, up to which all violations are reported: there can be as many of them."""
_IGNORED = frozenset({"$schema", "$id", "id", "contentEncoding", "contentMediaType"})
"""Keywords that name a dialect or a base URI, or that only draft 7 enforces."""
_STRICTER_IF_LOOSENED = frozenset({"not", "if", "oneOf"})
"""Keywords that refuse more values when a pattern below them is dropped; they go with it."""
_LATEST = "https://json-schema.org/draft/2020-12/schema"
_VALIDATORS = {
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    _LATEST: "Draft202012Validator",
}

_MESSAGES = {
    "AnyOf": "fits none of the alternatives",
    "OneOfNotValid": "fits none of the alternatives",
    "OneOfMultipleValid": "fits more than one of the alternatives",
    "FalseSchema": "is not allowed",
}

FormatCheck = Callable[[str], bool]


class SchemaViolation(NamedTuple):
    """Where and how a value breaks a schema."""

    message: str
    keyword: str
    path: tuple[str | int, ...]
    """Of the part of the value."""
    schema_path: tuple[str | int, ...]
    missing: str | None = None
    """The absent property, if the keyword is `required`."""


class CompiledSchema:
    """Validates values by one schema. Safe to share between threads."""

    def __init__(
        self, schema: Mapping[str, Any], *, formats: Mapping[str, FormatCheck] | None = None
    ) -> None:
        """Raise `InvalidSchemaError` if the schema is invalid or refers outside of itself.

        The error is a `SchemaBudgetError` if the schema would take too long to run.
        Only `formats` are checked, other formats are ignored. A format check may raise `ValueError`.
        """
        self._schema = schema
        self._formats = {name: _catch_value_error(check) for name, check in (formats or {}).items()}
        self._graph = SchemaGraph(schema)
        self._graph.check()
        self._graph.check_references()
        self._validator = self._compile(is_supported_pattern)

    def is_valid(self, value: Any) -> bool:
        """Whether the value fits the schema."""
        plain, validator, _ = self._prepare(value)
        return bool(validator.is_valid(plain))

    def violations(self, value: Any) -> list[SchemaViolation]:
        """All parts of the value that break the schema, or the first if there may be very many."""
        plain, validator, work = self._prepare(value)
        if work <= _MAX_REPORTED_WORK:
            return [_violation(error) for error in validator.iter_errors(plain)]
        try:
            validator.validate(plain)
        except _library().ValidationError as error:
            return [_violation(error)]
        return []

    def _prepare(self, value: Any) -> tuple[Any, Any, int]:
        """The value as plain JSON types, its validator, and the work; an error if that is too much."""
        measured = _Measure()
        plain = measured.copy(value)
        self._graph.check_value(measured.depth)
        work = self._graph.cost(measured.depth) * measured.nodes
        if work > _MAX_WORK:
            raise InvalidDataError(
                f"a value of {measured.nodes:,} parts takes too long to check by this schema: shorten it"
            )
        validator = self._validator if measured.text <= MAX_TEXT else self._validator_without_patterns
        return plain, validator, work

    @cached_property
    def _validator_without_patterns(self) -> Any:
        return self._compile(lambda _: False)

    def _compile(self, supported: Callable[[str], bool]) -> Any:
        library = _library()
        bounded = _Simplifier(self._graph, frozenset(self._formats), supported).simplify(self._schema)
        validator = getattr(library, _VALIDATORS[_dialect(self._schema)])
        try:
            return validator(
                bounded,
                formats=self._formats,
                validate_formats=bool(self._formats),
                pattern_options=_pattern_options(),
                offline=True,
            )
        except (ValueError, library.ReferencingError) as error:
            raise _invalid_schema(error) from None


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise `InvalidSchemaError` if a schema breaks the rules of its dialect.

    The error is a `SchemaBudgetError` if the schema would take too long to run, and a `MissingExtraError`
    without the library that checks the rest. References are not followed.
    """
    SchemaGraph(schema).check()
    library = _library()
    try:
        # an unknown dialect would be fetched
        library.meta.validate({**schema, "$schema": _dialect(schema)})
    except (ValueError, library.ReferencingError) as error:
        raise _invalid_schema(error) from None


@lru_cache(maxsize=1024)
def is_supported_pattern(pattern: str) -> bool:
    """Whether the linear-time engine can run the pattern, in little memory."""
    if len(pattern) > _MAX_PATTERN:
        return False
    try:
        _library().Draft202012Validator({"pattern": pattern}, pattern_options=_pattern_options())
    except ValueError:
        return False
    return True


class _Simplifier:
    """Copies a schema without what cannot be checked in bounded time."""

    def __init__(self, graph: SchemaGraph, formats: frozenset[str], supported: Callable[[str], bool]) -> None:
        self._graph = graph
        self._formats = formats
        self._supported = supported
        self._dropped = 0
        self._dropped_names = False

    def simplify(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        simple = self._schema(schema)
        # once more: with a pattern dropped, `unevaluatedProperties` would refuse the names it allowed
        return self._schema(schema) if self._dropped_names else simple

    def _schema(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        simple: dict[str, Any] = {}
        for keyword, value in schema.items():
            before = self._dropped
            if self._is_dropped(keyword, value):
                continue
            part = self._value(keyword, value)
            if self._dropped == before or keyword not in _STRICTER_IF_LOOSENED:
                simple[keyword] = part
        if len(simple.get("patternProperties", ())) < len(schema.get("patternProperties", ())):
            simple.pop("additionalProperties", None)
        return simple

    def _is_dropped(self, keyword: str, value: Any) -> bool:
        match keyword:
            case "pattern":
                dropped = isinstance(value, str) and not self._supported(value)
                self._dropped += dropped
                return dropped
            case "format":
                return value not in self._formats
            case "unevaluatedProperties":
                return self._dropped_names
            case _:
                return keyword in _IGNORED and isinstance(value, str)

    def _value(self, keyword: str, value: Any) -> Any:
        if keyword in DATA_KEYWORDS:
            return value
        if isinstance(value, list):
            return [self._value("", part) for part in cast("list[Any]", value)]
        if not isinstance(value, Mapping):
            return self._graph.local_reference(value) if keyword == "$ref" else value
        parts = cast("Mapping[str, Any]", value)
        if keyword == "patternProperties":
            kept = {name: part for name, part in parts.items() if self._supported(name)}
            self._dropped_names |= len(kept) < len(parts)
            self._dropped += len(parts) - len(kept)
            parts = kept
        if keyword in SCHEMA_MAPS:
            return {name: self._value("", part) for name, part in parts.items()}
        return self._schema(parts)


class _Measure:
    """Copies a value into plain JSON types, and measures it."""

    def __init__(self) -> None:
        self.nodes = self.text = self.depth = 0

    def copy(self, value: Any, depth: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise InvalidDataError(f"the value is nested more than {MAX_DEPTH} levels deep")
        self.nodes += 1
        self.depth = max(self.depth, depth)
        match value:
            case None | bool():
                return value
            case str():
                self.text += len(value)
                return _encodable(value)
            case int():
                return int(value)
            case float():
                return float(value)
            case Mapping():
                parts = cast("Mapping[Any, Any]", value)
                self.text += sum(len(str(name)) for name in parts)
                return {_encodable(str(name)): self.copy(part, depth + 1) for name, part in parts.items()}
            case list() | tuple():
                return [self.copy(part, depth + 1) for part in cast("list[Any]", value)]
            case _:
                raise InvalidDataError(f"a {type(value).__name__} cannot be checked: it is not a JSON value")


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced, which the library does not take."""
    return str(text) if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _violation(error: Any) -> SchemaViolation:
    missing = error.kind.property if error.kind.name == "required" else None
    return SchemaViolation(
        _message(error),
        str(error.kind.name),
        tuple(error.instance_path),
        tuple(error.schema_path),
        missing,
    )


def _message(error: Any) -> str:
    """The library's message, in plainer words where it talks about schemas."""
    words = _MESSAGES.get(type(getattr(error, "kind", None)).__name__)
    if words:
        return f"{json.dumps(error.instance, ensure_ascii=False)} {words}"
    return str(getattr(error, "message", error))


def _invalid_schema(error: Any) -> InvalidSchemaError:
    return InvalidSchemaError(_message(error), tuple(getattr(error, "instance_path", ())))


def _dialect(schema: Mapping[str, Any]) -> str:
    name = str(schema.get("$schema")).removesuffix("#")
    return name if name in _VALIDATORS else _LATEST


def _catch_value_error(check: FormatCheck) -> FormatCheck:
    def checked(text: str) -> bool:
        try:
            return check(text)
        except ValueError:
            return False

    return checked


@cache
def _pattern_options() -> Any:
    return _library().RegexOptions(size_limit=_MAX_COMPILED_PATTERN, dfa_size_limit=_MAX_COMPILED_PATTERN)


def _library() -> Any:
    try:
        import jsonschema_rs  # only some requests need it
    except ModuleNotFoundError as error:
        raise MissingExtraError("checking calls against the schemas of tools", "plan") from error
    return jsonschema_rs
