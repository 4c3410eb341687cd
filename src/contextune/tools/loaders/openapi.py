"""OpenAPI 3 documents → tools, one per operation."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.definitions.documents import read_document
from contextune.tools.definitions.schemas import validate_app
from contextune.tools.definitions.validation import (
    ToolCollector,
    as_list,
    as_mapping,
    describe_type,
    first_sentence,
    validate_name,
    validate_parameters,
    validate_text,
)
from contextune.tools.loaders.openapi_schema import OpenApiDocument
from contextune.types import Annotations, Tool

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_LOCATIONS = ("path", "query", "header")
_CLIENT_HEADERS = ("accept", "content-type", "authorization")
"""Headers that OpenAPI leaves to the HTTP client."""
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True, slots=True)
class _Operation:
    method: str
    path: str
    item: Mapping[str, Any]
    """The path item."""

    @property
    def definition(self) -> Mapping[str, Any]:
        """The operation object."""
        return as_mapping(self.item[self.method]) or {}

    @property
    def label(self) -> str:
        """For messages."""
        name = self.definition.get("operationId")
        return name if isinstance(name, str) and name.strip() else f"{self.method.upper()} {self.path}"

    @property
    def name(self) -> str:
        """The operation id, or method and path as words: get_pets_by_petId."""
        steps = (re.sub(r"\{([^{}]+)\}", r" by \1 ", step) for step in self.path.split("/"))
        from_path = re.sub(r"\W+", "_", " ".join([self.method, *steps])).strip("_")
        return validate_name(self.definition.get("operationId") or from_path)

    @property
    def description(self) -> str:
        summary = validate_text(self.definition.get("summary"), "summary")
        description = validate_text(self.definition.get("description"), "description")
        if not summary or description.startswith(summary.rstrip(".")):
            return description
        return f"{summary.rstrip('.')}. {description}" if description else summary


def load_openapi(document: str | Path | Mapping[str, Any], app: str | None = None) -> LoadedTools:
    """Load the operations of a document, given as a file or as its content.

    `app` is the application of all of them; by default, an operation's first tag or the document's title.
    """
    where = "" if isinstance(document, Mapping) else f"{document}: "
    content = as_mapping(read_document(Path(document)) if isinstance(document, str | Path) else document)
    if content is None or not str(content.get("openapi", "")).startswith("3."):
        raise InvalidDataError(f"{where}is not an OpenAPI 3 document: it has no `openapi: 3.…`")
    openapi = OpenApiDocument(content)
    info = as_mapping(content.get("info")) or {}
    title, about = _text(info.get("title")), first_sentence(_text(info.get("description")))
    collector = ToolCollector()
    for operation in _operations(openapi, collector, where):
        with collector.attempt(operation.label):
            tags = as_list(operation.definition.get("tags")) or [""]
            owner = app if app is not None else _text(tags[0]) or title
            collector.add(_tool(openapi, operation, owner, about))
    return collector.result()


def _operations(document: OpenApiDocument, collector: ToolCollector, where: str) -> Iterator[_Operation]:
    paths = as_mapping(document.content.get("paths", {}))
    if paths is None:
        raise InvalidDataError(f"{where}`paths` is {describe_type(document.content['paths'])}, not an object")
    for path, path_item in paths.items():
        item: Mapping[str, Any] = {}
        with collector.attempt(path):
            item = document.resolve(path_item, "the path")
        for method in _METHODS:
            if method in item:
                yield _Operation(method, path, item)


def _tool(document: OpenApiDocument, operation: _Operation, app: str, about: str) -> Tool:
    definition = operation.item[operation.method]
    if as_mapping(definition) is None:
        raise InvalidDataError(f"is {describe_type(definition)}, not an operation")
    return Tool(
        operation.name,
        operation.description,
        app=validate_app(app),
        parameters=validate_parameters(_parameters(document, operation)),
        about=about,
        annotations=Annotations(
            read_only=True if operation.method in ("get", "head") else None,
            destructive=True if operation.method == "delete" else None,
        ),
    )


def _parameters(document: OpenApiDocument, operation: _Operation) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for (name, location), parameter in _declared_parameters(document, operation).items():
        if location not in _LOCATIONS or (location == "header" and name.casefold() in _CLIENT_HEADERS):
            continue
        key = name if name not in properties else f"{location}_{name}"  # same name in path and query
        properties[key] = _parameter_schema(document, name, parameter)
        if location == "path" or parameter.get("required") is True:
            required.append(key)
    if operation.definition.get("requestBody") is not None:
        body = document.resolve(operation.definition["requestBody"], "the body")
        fields, needed = _body_fields(_body_schema(document, body))
        for name, schema in fields.items():
            key = name if name not in properties else f"body_{name}"
            properties[key] = schema
            if body.get("required") is True and name in needed:
                required.append(key)
    return {"type": "object", "properties": properties, "required": required}


def _declared_parameters(
    document: OpenApiDocument, operation: _Operation
) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Parameters by name and location; the operation's override those of the path."""
    declared: dict[tuple[str, str], Mapping[str, Any]] = {}
    for owner in (operation.item, operation.definition):
        parameters = as_list(owner.get("parameters", []))
        if parameters is None:
            raise InvalidDataError(f"its parameters are {describe_type(owner['parameters'])}, not a list")
        for entry in parameters:
            parameter = document.resolve(entry, "one of its parameters")
            name, location = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not name or not isinstance(location, str):
                raise InvalidDataError("one of its parameters has no `name` or no `in`")
            declared[name, location] = parameter
    return declared


def _parameter_schema(document: OpenApiDocument, name: str, parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = parameter["schema"] if "schema" in parameter else _content_schema(parameter)
    about = validate_text(parameter.get("description"), f"description of {name!r}")
    resolved = document.schema(schema)
    return {**resolved, "description": about} if about else resolved


def _body_schema(document: OpenApiDocument, body: Mapping[str, Any]) -> dict[str, Any]:
    about = validate_text(body.get("description"), "description of the body")
    schema = document.schema(_content_schema(body))
    return {"description": about, **schema} if about else schema


def _content_schema(owner: Mapping[str, Any]) -> object:
    """The schema of the JSON content, else of a form, else of the first media type."""
    media = as_mapping(owner.get("content")) or {"": {}}
    json_types = [name for name in media if re.match(r"application/(.+\+)?json\b", name, re.IGNORECASE)]
    chosen = next((name for name in (*json_types, *_FORM_TYPES) if name in media), next(iter(media)))
    return (as_mapping(media[chosen]) or {}).get("schema", {})


def _body_fields(schema: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """A body's fields and the required ones; a body that is not an object is one field, `body`."""
    merged = _merge_all_of(schema)
    if merged is None:
        return {"body": schema}, {"body"}
    properties, required = merged
    writable = {
        name: part
        for name, part in properties.items()
        if (as_mapping(part) or {}).get("readOnly") is not True
    }
    return writable, required & writable.keys()


def _merge_all_of(schema: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]] | None:
    """Properties and required names of an object and its `allOf`; None with `anyOf` or `oneOf`."""
    properties, parts = as_mapping(schema.get("properties")), as_list(schema.get("allOf"))
    if "anyOf" in schema or "oneOf" in schema or (properties is None and parts is None):
        return None
    fields = dict(properties or {})
    required = {name for name in as_list(schema.get("required")) or () if isinstance(name, str)}
    for part in parts or ():
        subschema: Mapping[str, Any] = as_mapping(part) or {}
        if not subschema.keys() - {"required", "description", "title", "type"}:
            subschema = {**subschema, "properties": dict[str, Any]()}  # it only constrains other parts
        merged = _merge_all_of(subschema)
        if merged is None:
            return None
        fields |= merged[0]
        required |= merged[1]
    return fields, required


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
