"""The schemas of an OpenAPI document as JSON Schema that stands alone: every `$ref` written out."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from contextune.errors import InvalidDataError
from contextune.tools.validation import items, kind_of, mapping

_LARGEST = 4_000
"""Schemas in one schema; from there on, what a `$ref` points to is named and not written out."""
_DEEPEST = 8
"""References within references; likewise."""
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
    "unevaluatedProperties", "unevaluatedItems",
)  # fmt: skip
_LEFT_OUT = ("$ref", "$defs", "definitions", "discriminator", "xml", "externalDocs", "example", "nullable")


class OpenApiDocument:
    """An OpenAPI document in which references can be followed."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content

    def target(self, reference: object) -> Mapping[str, Any]:
        """What a reference points to, within the document."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise InvalidDataError(
                f"points outside of the document, to {reference!r}: bundle the document into one file"
            )
        found: object = self.content
        for step in unquote(reference[1:]).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            within, row = mapping(found), items(found)
            if within is not None and name in within:
                found = within[name]
            elif row is not None and name.isdecimal() and int(name) < len(row):
                found = row[int(name)]
            else:
                raise InvalidDataError(f"points to {reference!r}, which is not in the document")
        target = mapping(found)
        if target is None:
            raise InvalidDataError(f"points to {reference!r}, which is {kind_of(found)}, not a mapping")
        return target

    def followed(self, value: object, what: str) -> Mapping[str, Any]:
        """A mapping, or what the reference in its place points to, however often that is passed on."""
        seen: set[str] = set()
        found = mapping(value)
        while found is not None and "$ref" in found:
            reference = str(found["$ref"])
            if reference in seen:
                raise InvalidDataError(f"{what} points to itself, through {reference!r}")
            seen.add(reference)
            found = self.target(found["$ref"])
        if found is None:
            raise InvalidDataError(f"{what} is {kind_of(value)}, not a mapping")
        return found

    def schema(self, schema: object) -> dict[str, Any]:
        """The schema without references."""
        made = _Inlining(self).out(schema, ())
        return {} if isinstance(made, bool) else made


class _Inlining:
    """Writes one schema out; a reference that leads back to itself ends there."""

    def __init__(self, document: OpenApiDocument) -> None:
        self._document = document
        self._left = _LARGEST

    def out(self, schema: object, within: tuple[str, ...]) -> dict[str, Any] | bool:
        if isinstance(schema, bool):
            return schema
        given = mapping(schema)
        if given is None:
            raise InvalidDataError(f"one of its schemas is {kind_of(schema)}, not a mapping")
        self._left -= 1
        made = self._of_parts(given, within)
        if "$ref" not in given:
            return made
        reference = given["$ref"]
        target = self._document.target(reference)
        if reference in within or len(within) == _DEEPEST or self._left <= 0:
            return {**_named(target), **made}
        whole = self.out(target, (*within, reference))
        return whole if isinstance(whole, bool) else {**whole, **made}

    def _of_parts(self, given: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, value in given.items():
            if name in _LEFT_OUT:
                continue
            if name in _MAPS and (parts := mapping(value)) is not None:
                made[name] = {part: self.out(inner, within) for part, inner in parts.items()}
            elif name in _LISTS and (row := items(value)) is not None:
                made[name] = [self.out(inner, within) for inner in row]
            elif name in _SINGLE:
                made[name] = self.out(value, within)
            else:
                made[name] = value
        return _in_json_schema(made, given)


def _named(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a schema is, without its parts."""
    return {
        name: schema[name] for name in ("type", "title", "description") if isinstance(schema.get(name), str)
    }


def _in_json_schema(made: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """OpenAPI 3.0 has words of its own for what JSON Schema says otherwise."""
    if given.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
        choices = items(made.get("enum"))
        if choices is not None and None not in choices:
            made["enum"] = [*choices, None]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(made.get(exclusive), bool) and made.pop(exclusive) and bound in made:
            made[exclusive] = made.pop(bound)
    if "example" in given and "examples" not in made:
        made["examples"] = [given["example"]]
    return made
