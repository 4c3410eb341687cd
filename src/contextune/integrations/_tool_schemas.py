"""Tools as model APIs take them: under plain names, with a schema that is an object, and a tool to search."""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, cast

from contextune.errors import InvalidDataError
from contextune.types import Annotations, Tool


def annotations(hints: object) -> Annotations:
    """MCP's hints by name; None where one is not given, or is not a yes or no."""
    said: Mapping[str, Any] = cast("Mapping[str, Any]", hints) if isinstance(hints, Mapping) else {}

    def hint(name: str) -> bool | None:
        value = said.get(name)
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
_LONGEST = 64
_TAIL = 8


def wire_name(tool: Tool) -> str:
    """What a model calls the tool by: server and name, as in `github__create_issue`.

    It hangs on the tool alone, so that it is the same in every turn, whatever else is offered.
    """
    # APIs take letters, digits, _ and -, at most 64 of them
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{tool.app}__{tool.name}" if tool.app else tool.name)
    if len(name) <= _LONGEST:
        return name
    tail = blake2b(tool.id.encode("utf-8", "surrogatepass"), digest_size=_TAIL // 2).hexdigest()
    return f"{name[: _LONGEST - _TAIL - 1]}_{tail}"


def called(name: str, tools: Iterable[Tool]) -> Tool:
    """The tool among `tools` that a model called by this name."""
    for tool in tools:
        if wire_name(tool) == name:
            return tool
    raise InvalidDataError(f"the model called {name!r}, which is none of its tools: tell it so and go on")


def named_apart(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The tools by the names a model knows them by."""
    named: dict[str, Tool] = {}
    for tool in tools:
        name = wire_name(tool)
        if name == SEARCH_NAME or named.setdefault(name, tool) is not tool:
            raise InvalidDataError(
                f"a model would know tool {tool.id!r} and another by one name, {name!r}: "
                "give their servers different names"
            )
    return named


def object_schema(tool: Tool) -> dict[str, object]:
    """The tool's parameters as APIs want them, also where it has none."""
    return {"type": "object", "properties": {}, **tool.parameters}


def search_schema() -> dict[str, object]:
    """What the search tool is called with."""
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


def queries(arguments: object) -> list[str]:
    """What a model asked the search tool for; models do not always keep to the schema."""
    if isinstance(arguments, Mapping):
        given = cast("Mapping[str, Any]", arguments)
        arguments = given.get("queries", given.get("query"))
    if isinstance(arguments, str):
        arguments = [arguments]
    if not isinstance(arguments, Sequence):
        return []
    return [text for text in cast("Sequence[object]", arguments) if isinstance(text, str) and text.strip()]


def field_of(part: object, name: str) -> object:
    """A field of what a model answered, be it the SDK's object or a plain dict; None if it is not there."""
    if isinstance(part, Mapping):
        return cast("Mapping[str, Any]", part).get(name)
    return getattr(part, name, None)
