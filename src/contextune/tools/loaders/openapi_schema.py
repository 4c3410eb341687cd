"""OpenAPI schemas → self-contained JSON Schema, with every `$ref` inlined."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from contextune.errors import InvalidDataError
from contextune.tools.definitions.validation import as_list, as_mapping, describe_type

_MAX_SUBSCHEMAS = 4_000
"""Beyond this, a `$ref` is replaced by the type, title and description of its target."""
_MAX_REF_DEPTH = 8
"""Nested references; likewise beyond."""
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
    "unevaluatedProperties", "unevaluatedItems",
)  # fmt: skip
_DROPPED = ("$ref", "$defs", "definitions", "discriminator", "xml", "externalDocs", "example", "nullable")


class OpenApiDocument:
    """A parsed OpenAPI document that resolves `$ref`s."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content

    def target(self, reference: object) -> Mapping[str, Any]:
        """The object that a reference within the document points to."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise InvalidDataError(
                f"points outside of the document, to {reference!r}: bundle it into one file"
            )
        node: object = self.content
        for step in unquote(reference[1:]).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            members, elements = as_mapping(node), as_list(node)
            if members is not None and name in members:
                node = members[name]
            elif elements is not None and name.isdecimal() and int(name) < len(elements):
                node = elements[int(name)]
            else:
                raise InvalidDataError(f"points to {reference!r}, which is not in the document")
        target = as_mapping(node)
        if target is None:
            raise InvalidDataError(f"points to {reference!r}, which is {describe_type(node)}, not an object")
        return target

    def resolve(self, value: object, what: str) -> Mapping[str, Any]:
        """The object itself, or the one at the end of its chain of references."""
        visited: set[str] = set()
        node = as_mapping(value)
        while node is not None and "$ref" in node:
            reference = str(node["$ref"])
            if reference in visited:
                raise InvalidDataError(f"{what} points to itself, through {reference!r}")
            visited.add(reference)
            node = self.target(node["$ref"])
        if node is None:
            raise InvalidDataError(f"{what} is {describe_type(value)}, not an object")
        return node

    def schema(self, schema: object) -> dict[str, Any]:
        """A schema with its references inlined."""
        inlined = _RefInliner(self).inline(schema, ())
        return {} if isinstance(inlined, bool) else inlined


class _RefInliner:
    """Inlines the references of one schema; recursion ends at the first repeated reference."""

    def __init__(self, document: OpenApiDocument) -> None:
        self._document = document
        self._budget = _MAX_SUBSCHEMAS

    def inline(self, schema: object, open_refs: tuple[str, ...]) -> dict[str, Any] | bool:
        if isinstance(schema, bool):
            return schema
        source = as_mapping(schema)
        if source is None:
            raise InvalidDataError(f"one of its schemas is {describe_type(schema)}, not an object")
        self._budget -= 1
        own = self._inline_keywords(source, open_refs)
        if "$ref" not in source:
            return own
        reference = source["$ref"]
        target = self._document.target(reference)
        if reference in open_refs or len(open_refs) == _MAX_REF_DEPTH or self._budget <= 0:
            return {**_summary(target), **own}
        inlined = self.inline(target, (*open_refs, reference))
        return inlined if isinstance(inlined, bool) else {**inlined, **own}

    def _inline_keywords(self, source: Mapping[str, Any], open_refs: tuple[str, ...]) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for name, value in source.items():
            if name in _DROPPED:
                continue
            if name in _MAPS and (members := as_mapping(value)) is not None:
                schema[name] = {key: self.inline(member, open_refs) for key, member in members.items()}
            elif name in _LISTS and (elements := as_list(value)) is not None:
                schema[name] = [self.inline(element, open_refs) for element in elements]
            elif name in _SINGLE:
                schema[name] = self.inline(value, open_refs)
            else:
                schema[name] = value
        return _to_json_schema(schema, source)


def _summary(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema's type, title and description."""
    return {
        name: schema[name] for name in ("type", "title", "description") if isinstance(schema.get(name), str)
    }


def _to_json_schema(schema: dict[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the keywords of OpenAPI 3.0 that JSON Schema spells differently."""
    if source.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        choices = as_list(schema.get("enum"))
        if choices is not None and None not in choices:
            schema["enum"] = [*choices, None]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    if "example" in source and "examples" not in schema:
        schema["examples"] = [source["example"]]
    return schema
