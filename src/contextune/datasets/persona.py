"""Personas: synthetic users with items, usage habits and labelled queries, one JSON file each.

`read_persona` and `persona_json` are inverse: nothing in the file is lost. The labels of a query (`Gold`) are
separate from its text, so that a reader can skip them and no answer can depend on them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from contextune.datasets.persona_format import check_persona
from contextune.errors import InvalidDataError
from contextune.types import Contact, Item, Request, User


class Habit(NamedTuple):
    """How often an item was used in the 15 days before the queries: when, where, how many times."""

    when: str
    where: str
    times: int


@dataclass(frozen=True, slots=True)
class Gold:
    """The labels of a query."""

    kind: str | None = None
    relevant: Mapping[str, int] | None = field(default=None, hash=False)
    cot: str | None = None
    api: str | None = None
    args: Mapping[str, Any] | None = field(default=None, hash=False)
    tools: tuple[str, ...] | None = None


ADDITIONAL = "additional"
"""Flag in `Query.more` of requests that were written after the persona: its history does not end at them."""


@dataclass(frozen=True, slots=True)
class Query:
    """One request of a persona."""

    id: str
    text: str
    time: datetime
    place: str
    gold: Gold = Gold()
    more: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)


@dataclass(frozen=True, slots=True)
class Persona:
    """A synthetic user with items, usage habits and queries."""

    user: User
    items: tuple[Item, ...]
    habits: Mapping[str, tuple[Habit, ...]] = field(hash=False)
    queries: tuple[Query, ...]
    more: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)

    @property
    def id(self) -> str:
        """The user id."""
        return self.user.id

    def request(self, query: Query) -> Request:
        """The query as an assistant receives it."""
        return Request(query.text, user=self.id, time=query.time, place=query.place)

    def name(self, query: Query) -> str:
        """The name of a query among those of all personas: "a01/q1"."""
        return f"{self.id}/{query.id}"

    def visible(self, query: Query) -> list[int]:
        """The positions of the items that existed at the time of the query."""
        made = [item.made for item in self.items]
        return [number for number, time in enumerate(made) if time is None or time <= query.time]


_CONTACT = ("email", "phone", "relation")
_GOLD = ("kind", "relevant", "cot", "api", "args", "tools")
_QUERY = ("id", "query", "time", "place")
_PERSONA = ("id", "profile", "places", "contacts", "items", "queries")


def read_persona(file: Path, *, gold: bool = True) -> Persona:
    """Read a persona file; `gold=False` skips the labels of its queries without looking at them."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot read the file: {error.strerror}") from None
    except ValueError as error:
        raise InvalidDataError(f"{file}: not valid JSON in UTF-8: {error}") from None
    if not gold and isinstance(data, dict):
        data = _without_gold(data)  # pyright: ignore[reportUnknownArgumentType]  # not checked yet
    return parse_persona(data, source=str(file))


def read_personas(folder: Path, *, gold: bool = True) -> Iterator[Persona]:
    """Read all persona files (`*.json`) of a folder, by name."""
    for file in persona_files(folder):
        yield read_persona(file, gold=gold)


def persona_files(folder: Path) -> list[Path]:
    """The persona files (`*.json`) of a folder, by name; raises `InvalidDataError` if there are none."""
    if not folder.is_dir():
        raise InvalidDataError(f"{folder}: no such folder (expected a folder of persona files)")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise InvalidDataError(f"{folder}: no persona files (*.json) in this folder")
    return files


def parse_persona(data: object, *, source: str = "persona") -> Persona:
    """Build a persona from decoded JSON; `InvalidDataError` names source, field and reason."""
    valid = check_persona(data, source=source)
    return Persona(
        user=User(
            id=valid["id"],
            profile=valid["profile"],
            places={name: (float(point[0]), float(point[1])) for name, point in valid["places"].items()},
            contacts=tuple(_contact(name, details) for name, details in valid["contacts"].items()),
        ),
        items=tuple(
            Item(item["id"], item["app"], _without(item, ("id", "app", "use"))) for item in valid["items"]
        ),
        habits={item["id"]: tuple(Habit(*entry) for entry in item["use"]) for item in valid["items"]},
        queries=tuple(parse_query(query) for query in valid["queries"]),
        more=_without(valid, _PERSONA),
    )


def persona_json(persona: Persona) -> dict[str, Any]:
    """The persona as JSON, as its file has it."""
    user = persona.user
    return {
        "id": persona.id,
        "profile": dict(user.profile),
        "places": {name: at if isinstance(at, str) else list(at) for name, at in user.places.items()},
        "contacts": {
            contact.name: {
                **{key: value for key in _CONTACT if (value := getattr(contact, key)) is not None},
                **contact.more,
            }
            for contact in user.contacts
        },
        "items": [
            {
                "id": item.id,
                "app": item.app,
                **item.fields,
                "use": [list(habit) for habit in persona.habits[item.id]],
            }
            for item in persona.items
        ],
        "queries": [_query_json(query) for query in persona.queries],
        **persona.more,
    }


def _without(data: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def _without_gold(data: dict[str, Any]) -> dict[str, Any]:
    queries = data.get("queries")
    if not isinstance(queries, list):
        return data
    return {**data, "queries": [_without(q, _GOLD) if isinstance(q, dict) else q for q in queries]}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # not checked yet


def _contact(name: str, details: Mapping[str, Any]) -> Contact:
    return Contact(name, **{key: details.get(key) for key in _CONTACT}, more=_without(details, _CONTACT))


def parse_query(data: Mapping[str, Any]) -> Query:
    """Build a query from valid JSON."""
    gold = {key: data[key] for key in _GOLD if key in data}
    if "tools" in gold:
        gold["tools"] = tuple(gold["tools"])
    return Query(
        id=data["id"],
        text=data["query"],
        time=datetime.fromisoformat(data["time"]),
        place=data["place"],
        gold=Gold(**gold),
        more=_without(data, (*_QUERY, *_GOLD)),
    )


def _query_json(query: Query) -> dict[str, Any]:
    gold = {key: value for key, value in asdict(query.gold).items() if value is not None}
    if "tools" in gold:
        gold["tools"] = list(gold["tools"])
    whole_minute = not (query.time.second or query.time.microsecond)
    time = query.time.isoformat(timespec="minutes" if whole_minute else "auto")
    return {"id": query.id, "query": query.text, "time": time, "place": query.place, **gold, **query.more}
