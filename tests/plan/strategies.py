"""Tools with arguments of many kinds, for property tests."""

from typing import Any

from hypothesis import strategies as st

from contextune.types import Tool

WORDS = st.sampled_from(
    [
        *(
            "my",
            "brother",
            "tomorrow",
            "at",
            "nine",
            "Kiln",
            "in",
            "German",
            "555-0142",
            "the",
            "usual",
            "three",
        ),
        *("loud", "song", "for", "half", "an", "hour", "Porto", "“Says”", "Sunday", "before", "ignore", "it"),
    ]
)
TEXT = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "x-free-text": True, "maxLength": 20},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "duration"},
    {"type": "string", "pattern": "^[0-9-]+$"},
    {"type": "integer", "minimum": 2},
    {"type": "number"},
    {"type": "boolean"},
    {"enum": ["walking", "driving", 3]},
    {"type": "array", "items": {"type": "string"}},
    {"type": "object"},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
]
NAMES = ["contact", "title", "date", "body", "when", "location", "count", "mode", "recipients"]


@st.composite
def some_tool(draw: st.DrawFn) -> Tool:
    properties = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(SCHEMAS), max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return Tool("some_tool", draw(TEXT), app="Some", parameters=schema)
