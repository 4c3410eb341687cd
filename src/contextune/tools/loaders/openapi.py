"""OpenAPI 3 documents: every operation is a tool."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.documents import read_document
from contextune.tools.loaders.openapi_schema import OpenApiDocument
from contextune.tools.schemas import checked_app
from contextune.tools.validation import (
    ToolCollector,
    checked_name,
    checked_parameters,
    checked_text,
    first_sentence,
    items,
    kind_of,
    mapping,
)
from contextune.types import Annotations, Tool

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_PLACES = ("path", "query", "header")
_OF_THE_CLIENT = ("accept", "content-type", "authorization")
"""Headers that OpenAPI leaves to whoever makes the call."""
_BODIES = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True, slots=True)
class _Operation:
    method: str
    path: str
    item: Mapping[str, Any]
    """All that stands under the path."""

    @property
    def given(self) -> Mapping[str, Any]:
        """What stands under the method."""
        return mapping(self.item[self.method]) or {}

    @property
    def called(self) -> str:
        name = self.given.get("operationId")
        return name if isinstance(name, str) and name.strip() else f"{self.method.upper()} {self.path}"

    @property
    def name(self) -> str:
        """Its id; or method and path in words, as in get_pets_by_petId."""
        steps = (re.sub(r"\{(.+?)\}", r" by \1 ", step) for step in self.path.split("/"))
        in_words = re.sub(r"\W+", "_", " ".join([self.method, *steps])).strip("_")
        return checked_name(self.given.get("operationId") or in_words)

    @property
    def description(self) -> str:
        summary = checked_text(self.given.get("summary"), "summary")
        more = checked_text(self.given.get("description"), "description")
        if not summary or more.startswith(summary.rstrip(".")):
            return more
        return f"{summary.rstrip('.')}. {more}" if more else summary


def load_openapi(document: str | Path | Mapping[str, Any], app: str | None = None) -> LoadedTools:
    """The operations of a document, or of the file it is in.

    `app` is where they belong; by default each belongs to its first tag, or to the title of the document.
    """
    where = "" if isinstance(document, Mapping) else f"{document}: "
    content = mapping(read_document(Path(document)) if isinstance(document, str | Path) else document)
    if content is None or not str(content.get("openapi", "")).startswith("3."):
        raise InvalidDataError(f"{where}is no OpenAPI 3 document: it has no `openapi: 3.…`")
    opened = OpenApiDocument(content)
    info = mapping(content.get("info")) or {}
    title, about = _text(info.get("title")), first_sentence(_text(info.get("description")))
    taking = ToolCollector()
    for operation in _operations(opened, taking, where):
        with taking.each(operation.called):
            tags = items(operation.given.get("tags")) or [""]
            owner = app if app is not None else _text(tags[0]) or title
            taking.add(_tool(opened, operation, owner, about))
    return taking.loaded()


def _operations(document: OpenApiDocument, taking: ToolCollector, where: str) -> Iterator[_Operation]:
    paths = mapping(document.content.get("paths", {}))
    if paths is None:
        raise InvalidDataError(f"{where}`paths` is {kind_of(document.content['paths'])}, not a mapping")
    for path, given in paths.items():
        item: Mapping[str, Any] = {}
        with taking.each(path):
            item = document.followed(given, "the path")
        for method in _METHODS:
            if method in item:
                yield _Operation(method, path, item)


def _tool(document: OpenApiDocument, operation: _Operation, app: str, about: str) -> Tool:
    given = operation.item[operation.method]
    if mapping(given) is None:
        raise InvalidDataError(f"is {kind_of(given)}, not an operation")
    return Tool(
        operation.name,
        operation.description,
        app=checked_app(app),
        parameters=checked_parameters(_parameters(document, operation)),
        about=about,
        annotations=Annotations(
            read_only=True if operation.method in ("get", "head") else None,
            destructive=True if operation.method == "delete" else None,
        ),
    )


def _parameters(document: OpenApiDocument, operation: _Operation) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for (name, place), parameter in _listed(document, operation).items():
        if place not in _PLACES or (place == "header" and name.casefold() in _OF_THE_CLIENT):
            continue
        key = name if name not in properties else f"{place}_{name}"  # one name in the path and in the query
        properties[key] = _parameter_schema(document, name, parameter)
        if place == "path" or parameter.get("required") is True:
            required.append(key)
    if operation.given.get("requestBody") is not None:
        body = document.followed(operation.given["requestBody"], "the body")
        fields, needed = _fields(_body_schema(document, body))
        for name, schema in fields.items():
            key = name if name not in properties else f"body_{name}"
            properties[key] = schema
            if body.get("required") is True and name in needed:
                required.append(key)
    return {"type": "object", "properties": properties, "required": required}


def _listed(document: OpenApiDocument, operation: _Operation) -> dict[tuple[str, str], Mapping[str, Any]]:
    """By name and place; an operation's own parameters stand in for those of its path."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for owner in (operation.item, operation.given):
        given = items(owner.get("parameters", []))
        if given is None:
            raise InvalidDataError(f"its parameters are {kind_of(owner['parameters'])}, not a list")
        for one in given:
            parameter = document.followed(one, "one of its parameters")
            name, place = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not name or not isinstance(place, str):
                raise InvalidDataError("one of its parameters has no name, or does not say where it stands")
            found[name, place] = parameter
    return found


def _parameter_schema(document: OpenApiDocument, name: str, parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = parameter["schema"] if "schema" in parameter else _content(parameter)
    about = checked_text(parameter.get("description"), f"description of {name!r}")
    made = document.schema(schema)
    return {**made, "description": about} if about else made


def _body_schema(document: OpenApiDocument, body: Mapping[str, Any]) -> dict[str, Any]:
    about = checked_text(body.get("description"), "description of the body")
    made = document.schema(_content(body))
    return {"description": about, **made} if about else made


def _content(owner: Mapping[str, Any]) -> object:
    """The schema of the kind of content that is easiest to write."""
    kinds = mapping(owner.get("content")) or {"": {}}
    json_like = [kind for kind in kinds if re.match(r"application/(.+\+)?json\b", kind, re.IGNORECASE)]
    chosen = next((kind for kind in (*json_like, *_BODIES) if kind in kinds), next(iter(kinds)))
    return (mapping(kinds[chosen]) or {}).get("schema", {})


def _fields(schema: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """The fields of a body, and those it needs; a body that is no plain object is one field, `body`."""
    merged = _merged(schema)
    if merged is None:
        return {"body": schema}, {"body"}
    properties, required = merged
    writable = {
        name: part for name, part in properties.items() if (mapping(part) or {}).get("readOnly") is not True
    }
    return writable, required & writable.keys()


def _merged(schema: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]] | None:
    """The fields of an object and of all that it is made of, or None where there is a choice to make."""
    properties, parts = mapping(schema.get("properties")), items(schema.get("allOf"))
    if "anyOf" in schema or "oneOf" in schema or (properties is None and parts is None):
        return None
    found = dict(properties or {})
    needed = {name for name in items(schema.get("required")) or () if isinstance(name, str)}
    for part in parts or ():
        given: Mapping[str, Any] = mapping(part) or {}
        if not given.keys() - {"required", "description", "title", "type"}:
            given = {**given, "properties": dict[str, Any]()}  # it only demands or describes what others hold
        inner = _merged(given)
        if inner is None:
            return None
        found |= inner[0]
        needed |= inner[1]
    return found, needed


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
