"""A tool in words: whole for its vector, in fields for the words in common."""

from collections.abc import Mapping
from typing import Any, cast

from contextune.search import identifier_words, tokenize
from contextune.types import Tool

_ABOUT_WORDS = 24
_DESCRIPTION_WORDS = 80
FIELDS = ("name", "description", "parameters")
LONGEST_NAME = 8
"""Longer names are looked for by their first so many words."""
Span = tuple[str, ...]
"""Words that follow each other."""


def tool_text(tool: Tool) -> str:
    """The tool in one line, what tells it from its neighbours first: a long tail may not be read."""
    name = " ".join(identifier_words(tool.name))
    title = tool.title if tool.title and tool.title.casefold() != name else ""
    parts = [tool.app, title or name, _first(tool.description, _DESCRIPTION_WORDS)]
    about = _first(tool.about, _ABOUT_WORDS)
    if about and about not in tool.description:
        parts.append(about)
    return " — ".join(part for part in parts if part)


def field_words(tool: Tool) -> dict[str, list[str]]:
    """The words of each of `FIELDS`."""
    return {
        "name": [*identifier_words(tool.app), *identifier_words(tool.name), *tokenize(tool.title)],
        "description": tokenize(" ".join([tool.description, tool.about, *tool.examples])),
        "parameters": _parameter_words(tool.parameters),
    }


def spans(text: str) -> frozenset[Span]:
    """Whatever in a text could be the name of a tool."""
    read, spelled = tokenize(text), identifier_words(text)
    return frozenset(
        tuple(row[start:end])
        for row in ((read, spelled) if read != spelled else (read,))
        for start in range(len(row))
        for end in range(start + 1, min(start + LONGEST_NAME, len(row)) + 1)
    )


def _parameter_words(schema: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return found
    for name, value in cast("Mapping[str, object]", properties).items():
        found += identifier_words(str(name))
        described = (
            cast("Mapping[str, object]", value).get("description") if isinstance(value, Mapping) else None
        )
        found += tokenize(str(described)) if described else []
    return found


def _first(text: str, count: int) -> str:
    parts = text.split()
    return " ".join(parts[:count]) if len(parts) > count else " ".join(parts)
