"""Tool schemas in the formats of OpenAI, Anthropic and MCP → tools."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.definitions.validation import (
    ToolCollector,
    as_list,
    as_mapping,
    describe_type,
    escape_invisible,
    parse_annotations,
    validate_name,
    validate_parameters,
    validate_text,
)
from contextune.types import Tool

_MAX_SHOWN = 200
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def load_schemas(
    tools: Iterable[Mapping[str, Any]] | Mapping[str, Any], app: str = "", *, about: str = ""
) -> LoadedTools:
    """Load a list of tool schemas, or a mapping with such a list under `tools`.

    Accepts the formats of OpenAI (chat and Responses), Anthropic, MCP and Contextune's JSONL. `app` is the
    application of tools that do not name one, `about` describes it.
    """
    collector = ToolCollector()
    _collect(collector, _schema_list(tools), app, about)
    return collector.result()


def tool_from_schema(source: Mapping[str, Any], app: str = "", about: str = "") -> Tool:
    """Convert one tool schema; raises `InvalidDataError`."""
    source = _unwrap(source)
    name = validate_name(source.get("name"))
    schema = _parameters(source)
    annotations = as_mapping(source.get("annotations")) or {}
    title = source.get("title") or annotations.get("title")
    return Tool(
        name,
        validate_text(source.get("description"), "description"),
        app=validate_app(source.get("app") or app),
        parameters=validate_parameters(schema),
        title=title.strip() if isinstance(title, str) else "",
        about=validate_text(source.get("about"), "about") or about,
        annotations=parse_annotations(annotations),
        examples=tuple(text for text in as_list(source.get("examples")) or () if isinstance(text, str)),
    )


def display_name(source: object, app: str, default: str) -> str:
    """The id of a tool that may be invalid, for messages: escaped, with `default` for a missing name."""
    schema = _unwrap(as_mapping(source) or {})
    name, own_app = schema.get("name"), schema.get("app")
    name = name if isinstance(name, str) and name.strip() else default
    app = own_app if isinstance(own_app, str) and own_app else app
    return escape_invisible(f"{app}/{name}" if app else name)[:_MAX_SHOWN]


def validate_app(value: object) -> str:
    """The name of the application or server, which may be empty."""
    return validate_name(value) if value else ""


def _unwrap(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """OpenAI's chat format has the tool one level down, under `function`."""
    return as_mapping(source.get("function")) or source if source.get("type") == "function" else source


def _schema_list(tools: object) -> Iterable[object]:
    """The list of schemas, out of an object with `tools` or a JSON-RPC response with `result`."""
    wrapped = as_mapping(tools)
    if wrapped is None:
        if isinstance(tools, str) or not isinstance(tools, Iterable):
            raise InvalidDataError(f"expected a list of tools, not {describe_type(tools)}")
        return cast("Iterable[object]", tools)
    result = as_mapping(wrapped.get("result"))
    if result is not None:
        return _schema_list(result)
    if "tools" not in wrapped or "name" in wrapped:
        return [wrapped]
    schemas = as_list(wrapped["tools"])
    if schemas is None:
        raise InvalidDataError(f"`tools` must be a list of tools, not {describe_type(wrapped['tools'])}")
    return schemas


def _collect(collector: ToolCollector, schemas: Iterable[object], app: str, about: str) -> None:
    for number, source in enumerate(schemas, 1):
        with collector.attempt(display_name(source, app, f"#{number}")):
            schema = as_mapping(source)
            if schema is None:
                raise InvalidDataError(f"is {describe_type(source)}, not a tool schema")
            group = as_list(schema.get("tools")) if schema.get("type") == "namespace" else None
            if group is None:
                collector.add(tool_from_schema(schema, app, about))
            else:  # OpenAI's namespaces
                description = validate_text(schema.get("description"), "description")
                _collect(collector, group, validate_name(schema.get("name")), description or about)


def _parameters(source: Mapping[str, Any]) -> object:
    for key in ("inputSchema", "input_schema", "parameters"):
        if key in source:
            # for a tool without parameters, OpenAI allows null or nothing; the others require a schema
            return _NO_PARAMETERS if source[key] is None and key == "parameters" else source[key]
    kind = source.get("type")
    if kind in (None, "custom"):
        raise InvalidDataError("has no schema: add inputSchema, input_schema or parameters")
    if kind != "function":
        raise InvalidDataError(f"is a built-in {kind!r} tool of the model provider, which has no schema")
    return _NO_PARAMETERS
