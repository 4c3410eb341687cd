"""Tools as models' interfaces and MCP write them: OpenAI's, Anthropic's, and what `tools/list` answers."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.validation import (
    ToolCollector,
    annotations_from,
    checked_name,
    checked_parameters,
    checked_text,
    items,
    kind_of,
    mapping,
)
from contextune.types import Tool

_NONE: dict[str, Any] = {"type": "object", "properties": {}}


def load_schemas(
    tools: Iterable[Mapping[str, Any]] | Mapping[str, Any], app: str = "", *, about: str = ""
) -> LoadedTools:
    """The tools of a list, or of a mapping with a list under `tools`; `app` is where they belong.

    Each may be in OpenAI's form (chat or Responses), Anthropic's, MCP's, or that of our own JSONL.
    """
    taking = ToolCollector()
    _take(taking, _listed(tools), app, about)
    return taking.loaded()


def tool_from(given: Mapping[str, Any], app: str = "", about: str = "") -> Tool:
    """The tool of one such schema, or an error that says what is wrong with it."""
    given = _inner(given)
    name = checked_name(given.get("name"))
    schema = _schema(given)
    annotations = mapping(given.get("annotations")) or {}
    title = given.get("title") or annotations.get("title")
    return Tool(
        name,
        checked_text(given.get("description"), "description"),
        app=checked_app(given.get("app") or app),
        parameters=checked_parameters(schema),
        title=title.strip() if isinstance(title, str) else "",
        about=checked_text(given.get("about"), "about") or about,
        annotations=annotations_from(annotations),
        examples=tuple(said for said in items(given.get("examples")) or () if isinstance(said, str)),
    )


def called(given: object, app: str, otherwise: str) -> str:
    """What to call a tool that may be broken: its id, if it has a name."""
    schema = _inner(mapping(given) or {})
    name, own = schema.get("name"), schema.get("app")
    name = name if isinstance(name, str) and name.strip() else otherwise
    app = own if isinstance(own, str) and own else app
    return f"{app}/{name}" if app else name


def checked_app(value: object) -> str:
    """The name of the application or server; it may be empty."""
    return checked_name(value) if value else ""


def _inner(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """OpenAI's chat form has the tool one level down."""
    return mapping(given.get("function")) or given if given.get("type") == "function" else given


def _listed(tools: object) -> Iterable[object]:
    """The list of tools in whatever it is wrapped."""
    wrapped = mapping(tools)
    if wrapped is None:
        if isinstance(tools, str) or not isinstance(tools, Iterable):
            raise InvalidDataError(f"{kind_of(tools)} is no list of tools")
        return cast("Iterable[object]", tools)
    answer = mapping(wrapped.get("result"))
    if answer is not None:
        return _listed(answer)
    if "tools" not in wrapped or "name" in wrapped:
        return [wrapped]
    listed = items(wrapped["tools"])
    if listed is None:
        raise InvalidDataError(f"`tools` is {kind_of(wrapped['tools'])}, not a list of tools")
    return listed


def _take(taking: ToolCollector, tools: Iterable[object], app: str, about: str) -> None:
    for number, given in enumerate(tools, 1):
        with taking.each(called(given, app, f"#{number}")):
            schema = mapping(given)
            if schema is None:
                raise InvalidDataError(f"is {kind_of(given)}, not the schema of a tool")
            group = items(schema.get("tools")) if schema.get("type") == "namespace" else None
            if group is None:
                taking.add(tool_from(schema, app, about))
            else:  # OpenAI's groups of tools
                said = checked_text(schema.get("description"), "description")
                _take(taking, group, checked_name(schema.get("name")), said or about)


def _schema(given: Mapping[str, Any]) -> object:
    for key in ("inputSchema", "input_schema", "parameters"):
        if key in given:
            # OpenAI writes null, or nothing, for a tool that takes nothing; the others say so by a schema
            return _NONE if given[key] is None and key == "parameters" else given[key]
    kind = given.get("type")
    if kind in (None, "custom"):
        raise InvalidDataError("has no schema: give it under inputSchema, input_schema or parameters")
    if kind != "function":
        raise InvalidDataError(f"is a {kind!r} of the model's provider, which has no schema of its own")
    return _NONE
