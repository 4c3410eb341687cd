"""A tool as text: one line to embed, and tokens by field for BM25."""

from collections.abc import Mapping
from typing import Any, cast

from contextune.search import identifier_words, tokenize
from contextune.types import Tool

_MAX_ABOUT_WORDS = 24
_MAX_DESCRIPTION_WORDS = 80
FIELDS = ("name", "description", "parameters")
MAX_NAME_WORDS = 8
"""Longer names are matched by their first words."""
Span = tuple[str, ...]
"""Consecutive words."""


def tool_text(tool: Tool) -> str:
    """The text that is embedded, most distinctive parts first, as an embedder may truncate it."""
    name = " ".join(identifier_words(tool.name))
    title = tool.title if tool.title and tool.title.casefold() != name else ""
    parts = [tool.app, title or name, _first_words(tool.description, _MAX_DESCRIPTION_WORDS)]
    about = _first_words(tool.about, _MAX_ABOUT_WORDS)
    if about and about not in tool.description:
        parts.append(about)
    return " — ".join(part for part in parts if part)


def field_tokens(tool: Tool) -> dict[str, list[str]]:
    """The tokens of each of `FIELDS`."""
    return {
        "name": [*identifier_words(tool.app), *identifier_words(tool.name), *tokenize(tool.title)],
        "description": tokenize(" ".join([tool.description, tool.about, *tool.examples])),
        "parameters": _parameter_words(tool.parameters),
    }


def name_spans(text: str) -> frozenset[Span]:
    """Every run of words in a text that could be a tool's name."""
    tokens, identifiers = tokenize(text), identifier_words(text)
    return frozenset(
        tuple(row[start:end])
        for row in ((tokens, identifiers) if tokens != identifiers else (tokens,))
        for start in range(len(row))
        for end in range(start + 1, min(start + MAX_NAME_WORDS, len(row)) + 1)
    )


def _parameter_words(schema: Mapping[str, Any]) -> list[str]:
    tokens: list[str] = []
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return tokens
    for name, value in cast("Mapping[str, object]", properties).items():
        tokens += identifier_words(str(name))
        description = (
            cast("Mapping[str, object]", value).get("description") if isinstance(value, Mapping) else None
        )
        tokens += tokenize(str(description)) if description else []
    return tokens


def _first_words(text: str, count: int) -> str:
    return " ".join(text.split()[:count])
