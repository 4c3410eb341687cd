"""Tools in the formats of model APIs: names, schemas, and a search tool."""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, cast

from contextune.errors import InvalidDataError
from contextune.types import Annotations, Tool


def annotations_from_hints(hints: object) -> Annotations:
    """Annotations from MCP's hints; None for a hint that is missing or not a boolean."""
    values: Mapping[str, Any] = cast("Mapping[str, Any]", hints) if isinstance(hints, Mapping) else {}

    def hint(name: str) -> bool | None:
        value = values.get(name)
        return value if isinstance(value, bool) else None

    return Annotations(
        hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint")
    )


SEARCH_NAME: Final = "search_tools"
SEARCH_DESCRIPTION: Final = (
    "Finds tools that are not listed yet. Say in a few words what each tool you need should do; "
    "the tools found can be called in your next step."
)
NOTHING_FOUND: Final = "No tool was found. Say in other words what the tool should do, or go on without one."
NO_QUERY: Final = 'Nothing was asked for: give {"queries": ["what the tool should do"]}.'
_MAX_NAME = 64
_DIGEST = 8


def wire_name(tool: Tool) -> str:
    """The tool's name for models: server and name, as in `github__create_issue`.

    It depends on the tool alone, so it is the same in every turn.
    """
    # APIs allow letters, digits, _ and -, at most 64 characters
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{tool.app}__{tool.name}" if tool.app else tool.name)
    if len(name) <= _MAX_NAME:
        return name
    digest = blake2b(tool.id.encode("utf-8", "surrogatepass"), digest_size=_DIGEST // 2).hexdigest()
    return f"{name[: _MAX_NAME - _DIGEST - 1]}_{digest}"


def tool_by_wire_name(name: str, tools: Iterable[Tool]) -> Tool:
    """The tool that a model called under this name."""
    for tool in tools:
        if wire_name(tool) == name:
            return tool
    raise InvalidDataError(f"the model called an unknown tool: {name!r} (return this error to it)")


def tools_by_wire_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The tools by their names for models; raises if two share one."""
    by_name: dict[str, Tool] = {}
    for tool in tools:
        name = wire_name(tool)
        if name == SEARCH_NAME or by_name.setdefault(name, tool) is not tool:
            raise InvalidDataError(
                f"tool {tool.id!r} and another have the same name for models, {name!r}: "
                "give their servers different names"
            )
    return by_name


def object_schema(tool: Tool) -> dict[str, object]:
    """The tool's parameters as an object schema, also if it has none."""
    return {"type": "object", "properties": {}, **tool.parameters}


def search_schema() -> dict[str, object]:
    """Input schema of the search tool."""
    queries = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "description": "For each tool needed a few words on what it should do.",
    }
    return {
        "type": "object",
        "properties": {"queries": queries},
        "required": ["queries"],
        "additionalProperties": False,
    }


def parse_queries(arguments: object) -> list[str]:
    """The queries of a call of the search tool; lenient, as models do not always follow the schema."""
    if isinstance(arguments, Mapping):
        values = cast("Mapping[str, Any]", arguments)
        arguments = values.get("queries", values.get("query"))
    if isinstance(arguments, str):
        arguments = [arguments]
    if not isinstance(arguments, Sequence):
        return []
    return [text for text in cast("Sequence[object]", arguments) if isinstance(text, str) and text.strip()]


def get_field(block: object, name: str) -> object:
    """A field of a model's output, which may be an SDK object or a dict; None if it is missing."""
    if isinstance(block, Mapping):
        return cast("Mapping[str, Any]", block).get(name)
    return getattr(block, name, None)
