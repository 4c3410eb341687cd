"""The shapes of answers, as JSON Schemas. Closed, and in few words, as strict servers want them.

They are the same for every persona, so that a server prepares each once; what differs from one to the
next, such as the names of places, is checked afterwards, and told in words.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from contextune.datasets.persona_format import WHEN
from contextune.lab.generate.query_rules import KINDS
from contextune.plan.schema import parameters
from contextune.types import Tool

Shape = Mapping[str, Any]

TEXT: Shape = {"type": "string"}
NUMBER: Shape = {"type": "number"}
TIME: Shape = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$"}
MAYBE: Shape = {"type": ["string", "null"]}
NONE = "default"
"""What is answered in place of an API where none serves."""


def shape(**properties: Shape) -> dict[str, Any]:
    """An object that has these properties, all of them and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def several(of: Shape, least: int = 0, most: int | None = None) -> dict[str, Any]:
    """A list."""
    return {"type": "array", "items": of, "minItems": least, **({"maxItems": most} if most else {})}


def one_of(names: Sequence[str]) -> dict[str, Any]:
    """One of some words."""
    return {"type": "string", "enum": list(names)}


PERSON = shape(
    name=TEXT,
    profession=TEXT,
    city=TEXT,
    favorite_music_genre=TEXT,
    favorite_movie_genre=TEXT,
    favorite_cuisine=TEXT,
    favorite_sport=TEXT,
    hobbies=several(TEXT, 2, 3),
    places=several(shape(name=TEXT, latitude=NUMBER, longitude=NUMBER), 4, 6),
    contacts=several(shape(name=TEXT, relation=TEXT, email=MAYBE, phone=MAYBE), 4, 8),
    threads=several(TEXT, 4, 6),
)

_USE = several(shape(when=one_of(WHEN), where=TEXT, times={"type": "integer", "minimum": 1}), 0, 3)
_FIELDS: Mapping[str, Mapping[str, Shape]] = {
    "Calendar": {
        "event_name": TEXT,
        "category": TEXT,
        "organizer": TEXT,
        "participants": several(TEXT),
        "location": TEXT,
        "start_time": TIME,
        "end_time": TIME,
        "status": one_of(["Confirmed", "Tentative", "Cancelled"]),
        "notes": MAYBE,
        "place": MAYBE,
    },
    "Mail": {
        "author": TEXT,
        "recipients": several(TEXT, 1),
        "subject": TEXT,
        "content": TEXT,
        "date": TIME,
        "folder": TEXT,
    },
    "Reminders": {
        "title": TEXT,
        "list": TEXT,
        "due": {**TIME, "type": ["string", "null"]},
        "status": one_of(["open", "done"]),
        "created": TIME,
        "place": MAYBE,
    },
    "Notes": {"title": TEXT, "content": TEXT, "folder": TEXT, "modified": TIME, "place": MAYBE},
    "Google": {"query": TEXT, "date": TIME, "place": MAYBE},
    "Music": {"song_name": TEXT, "artist": TEXT, "album_title": TEXT, "playlist": MAYBE, "played_time": TIME},
    "PhoneCall": {
        "contact": TEXT,
        "direction": one_of(["missed", "incoming", "outgoing"]),
        "date": TIME,
        "duration_s": {"type": "integer", "minimum": 0},
    },
}


def items(app: str) -> dict[str, Any]:
    """Items of an application."""
    return shape(items=several(shape(**_FIELDS[app], use=_USE), 1))


REQUESTS = shape(
    requests=several(
        shape(
            slot={"type": "integer", "minimum": 1},
            kind=one_of(list(KINDS)),
            query=TEXT,
            time=TIME,
            place=TEXT,
            relevant=several(shape(id=TEXT, grade={"type": "integer", "enum": [1, 2]}), 1, 4),
        ),
        1,
    )
)

THOUGHT = shape(thought=TEXT)

APIS = shape(
    apis=several(
        shape(
            api={"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
            description=TEXT,
            arguments=several(
                shape(
                    name={"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
                    type=one_of(["string", "integer", "datetime", "date", "list"]),
                    required={"type": "boolean"},
                    free_text={"type": "boolean"},
                    description=TEXT,
                )
            ),
        ),
        1,
    )
)


def choice(tools: Sequence[Tool]) -> dict[str, Any]:
    """One API of a toolbox, or none, and two others."""
    names = [tool.name for tool in tools]
    return shape(api=one_of([*names, NONE]), others=several(one_of(names), 2, 2))


def arguments(tool: Tool) -> dict[str, Any]:
    """What a call of the tool takes; what may be left out may be null."""
    found: dict[str, Shape] = {}
    for parameter in parameters(tool):
        kept = {key: parameter.schema[key] for key in ("type", "items", "enum") if key in parameter.schema}
        if not parameter.required:
            kept["type"] = [kept.get("type", "string"), "null"]
            if "enum" in kept:
                kept["enum"] = [*kept["enum"], None]
        found[parameter.name] = {**kept, "description": parameter.description}
    return shape(**found)
