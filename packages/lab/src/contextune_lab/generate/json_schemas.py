"""JSON Schemas of model answers: closed and simple, as strict servers require.

They are the same for every persona, so that a server compiles each once. What differs, such as place
names, is checked afterwards.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from contextune.datasets.persona_format import WHEN
from contextune.plan.schema import tool_parameters
from contextune.types import Tool
from contextune_lab.generate.query_rules import KINDS

JsonSchema = Mapping[str, Any]

TEXT: JsonSchema = {"type": "string"}
NUMBER: JsonSchema = {"type": "number"}
TIME: JsonSchema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$"}
OPTIONAL_TEXT: JsonSchema = {"type": ["string", "null"]}
NO_API = "default"
"""The answer if no API serves the request."""


def object_schema(**properties: JsonSchema) -> dict[str, Any]:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def array_schema(of: JsonSchema, least: int = 0, most: int | None = None) -> dict[str, Any]:
    """An array."""
    return {"type": "array", "items": of, "minItems": least, **({"maxItems": most} if most else {})}


def enum_schema(names: Sequence[str]) -> dict[str, Any]:
    """An enum of strings."""
    return {"type": "string", "enum": list(names)}


PERSON = object_schema(
    name=TEXT,
    profession=TEXT,
    city=TEXT,
    favorite_music_genre=TEXT,
    favorite_movie_genre=TEXT,
    favorite_cuisine=TEXT,
    favorite_sport=TEXT,
    hobbies=array_schema(TEXT, 2, 3),
    places=array_schema(object_schema(name=TEXT, latitude=NUMBER, longitude=NUMBER), 4, 6),
    contacts=array_schema(
        object_schema(name=TEXT, relation=TEXT, email=OPTIONAL_TEXT, phone=OPTIONAL_TEXT), 4, 8
    ),
    threads=array_schema(TEXT, 4, 6),
)

_USE = array_schema(
    object_schema(when=enum_schema(WHEN), where=TEXT, times={"type": "integer", "minimum": 1}), 0, 3
)
_FIELDS: Mapping[str, Mapping[str, JsonSchema]] = {
    "Calendar": {
        "event_name": TEXT,
        "category": TEXT,
        "organizer": TEXT,
        "participants": array_schema(TEXT),
        "location": TEXT,
        "start_time": TIME,
        "end_time": TIME,
        "status": enum_schema(["Confirmed", "Tentative", "Cancelled"]),
        "notes": OPTIONAL_TEXT,
        "place": OPTIONAL_TEXT,
    },
    "Mail": {
        "author": TEXT,
        "recipients": array_schema(TEXT, 1),
        "subject": TEXT,
        "content": TEXT,
        "date": TIME,
        "folder": TEXT,
    },
    "Reminders": {
        "title": TEXT,
        "list": TEXT,
        "due": {**TIME, "type": ["string", "null"]},
        "status": enum_schema(["open", "done"]),
        "created": TIME,
        "place": OPTIONAL_TEXT,
    },
    "Notes": {"title": TEXT, "content": TEXT, "folder": TEXT, "modified": TIME, "place": OPTIONAL_TEXT},
    "Google": {"query": TEXT, "date": TIME, "place": OPTIONAL_TEXT},
    "Music": {
        "song_name": TEXT,
        "artist": TEXT,
        "album_title": TEXT,
        "playlist": OPTIONAL_TEXT,
        "played_time": TIME,
    },
    "PhoneCall": {
        "contact": TEXT,
        "direction": enum_schema(["missed", "incoming", "outgoing"]),
        "date": TIME,
        "duration_s": {"type": "integer", "minimum": 0},
    },
}


def items_schema(app: str) -> dict[str, Any]:
    """Items of an application."""
    return object_schema(items=array_schema(object_schema(**_FIELDS[app], use=_USE), 1))


REQUESTS = object_schema(
    requests=array_schema(
        object_schema(
            slot={"type": "integer", "minimum": 1},
            kind=enum_schema(list(KINDS)),
            query=TEXT,
            time=TIME,
            place=TEXT,
            relevant=array_schema(object_schema(id=TEXT, grade={"type": "integer", "enum": [1, 2]}), 1, 4),
        ),
        1,
    )
)

THOUGHT = object_schema(thought=TEXT)

APIS = object_schema(
    apis=array_schema(
        object_schema(
            api={"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
            description=TEXT,
            arguments=array_schema(
                object_schema(
                    name={"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
                    type=enum_schema(["string", "integer", "datetime", "date", "list"]),
                    required={"type": "boolean"},
                    free_text={"type": "boolean"},
                    description=TEXT,
                )
            ),
        ),
        1,
    )
)


def choice_schema(tools: Sequence[Tool]) -> dict[str, Any]:
    """One API of a toolbox or none, and two alternatives."""
    names = [tool.name for tool in tools]
    return object_schema(api=enum_schema([*names, NO_API]), others=array_schema(enum_schema(names), 2, 2))


def arguments_schema(tool: Tool) -> dict[str, Any]:
    """Arguments of a call; optional ones may be null."""
    schemas: dict[str, JsonSchema] = {}
    for parameter in tool_parameters(tool):
        schema = {key: parameter.schema[key] for key in ("type", "items", "enum") if key in parameter.schema}
        if not parameter.required:
            schema["type"] = [schema.get("type", "string"), "null"]
            if "enum" in schema:
                schema["enum"] = [*schema["enum"], None]
        schemas[parameter.name] = {**schema, "description": parameter.description}
    return object_schema(**schemas)
