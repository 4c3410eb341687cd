"""Synthetic users in one JSON file each: what their phone holds, how they use it, what they ask.

`read_persona` and `persona_json` are each other's inverse: nothing in the file is lost.
What a query is judged by (`Gold`) is kept apart from what it says, so that a reader can
leave it out and be sure that no answer has looked at it.
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
    """How often an item was used in the fortnight before the queries: when, where, how many times."""

    when: str
    where: str
    times: int


@dataclass(frozen=True, slots=True)
class Gold:
    """What a query is judged by."""

    kind: str | None = None
    relevant: Mapping[str, int] | None = field(default=None, hash=False)
    cot: str | None = None
    api: str | None = None
    args: Mapping[str, Any] | None = field(default=None, hash=False)
    tools: tuple[str, ...] | None = None


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
    """One synthetic user with everything that is theirs."""

    user: User
    items: tuple[Item, ...]
    habits: Mapping[str, tuple[Habit, ...]] = field(hash=False)
    queries: tuple[Query, ...]
    more: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)

    @property
    def id(self) -> str:
        """The id of the user."""
        return self.user.id

    def request(self, query: Query) -> Request:
        """The query as it reaches an assistant."""
        return Request(query.text, user=self.id, time=query.time, place=query.place)

    def name(self, query: Query) -> str:
        """What a query is called among those of many personas."""
        return f"{self.id}/{query.id}"

    def visible(self, query: Query) -> list[int]:
        """The positions of the items that had been made by the query's time."""
        made = [item.made for item in self.items]
        return [number for number, time in enumerate(made) if time is None or time <= query.time]


_CONTACT = ("email", "phone", "relation")
_GOLD = ("kind", "relevant", "cot", "api", "args", "tools")
_QUERY = ("id", "query", "time", "place")
_PERSONA = ("id", "profile", "places", "contacts", "items", "queries")


def read_persona(file: Path, *, gold: bool = True) -> Persona:
    """The persona in a file; `gold=False` leaves out what its queries are judged by, unread."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InvalidDataError(f"{file}: is not JSON in UTF-8: {error}") from None
    if not gold and isinstance(data, dict):
        data = _without_gold(data)  # pyright: ignore[reportUnknownArgumentType]  # not checked yet
    return parse_persona(data, source=str(file))


def read_personas(folder: Path, *, gold: bool = True) -> Iterator[Persona]:
    """The personas of all `*.json` files in a folder, in the order of their names."""
    for file in persona_files(folder):
        yield read_persona(file, gold=gold)


def persona_files(folder: Path) -> list[Path]:
    """The persona files of a folder, or an error if there are none."""
    if not folder.is_dir():
        raise InvalidDataError(f"{folder}: no such folder; name one that holds persona files")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise InvalidDataError(f"{folder}: holds no persona files (*.json)")
    return files


def parse_persona(data: object, *, source: str = "persona") -> Persona:
    """The persona in decoded JSON; whatever is malformed is refused with source, field and reason."""
    checked = check_persona(data, source=source)
    return Persona(
        user=User(
            id=checked["id"],
            profile=checked["profile"],
            places={name: (float(at[0]), float(at[1])) for name, at in checked["places"].items()},
            contacts=tuple(_contact(name, details) for name, details in checked["contacts"].items()),
        ),
        items=tuple(
            Item(item["id"], item["app"], _rest(item, ("id", "app", "use"))) for item in checked["items"]
        ),
        habits={item["id"]: tuple(Habit(*entry) for entry in item["use"]) for item in checked["items"]},
        queries=tuple(_query(query) for query in checked["queries"]),
        more=_rest(checked, _PERSONA),
    )


def persona_json(persona: Persona) -> dict[str, Any]:
    """The persona as its file has it."""
    user = persona.user
    return {
        "id": persona.id,
        "profile": dict(user.profile),
        "places": {name: list(at) for name, at in user.places.items()},
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


def _rest(data: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in known}


def _without_gold(data: dict[str, Any]) -> dict[str, Any]:
    queries = data.get("queries")
    if not isinstance(queries, list):
        return data
    return {**data, "queries": [_rest(q, _GOLD) if isinstance(q, dict) else q for q in queries]}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # not checked yet


def _contact(name: str, details: Mapping[str, Any]) -> Contact:
    return Contact(name, **{key: details.get(key) for key in _CONTACT}, more=_rest(details, _CONTACT))


def _query(data: Mapping[str, Any]) -> Query:
    gold = {key: data[key] for key in _GOLD if key in data}
    if "tools" in gold:
        gold["tools"] = tuple(gold["tools"])
    return Query(
        id=data["id"],
        text=data["query"],
        time=datetime.fromisoformat(data["time"]),
        place=data["place"],
        gold=Gold(**gold),
        more=_rest(data, (*_QUERY, *_GOLD)),
    )


def _query_json(query: Query) -> dict[str, Any]:
    gold = {key: value for key, value in asdict(query.gold).items() if value is not None}
    if "tools" in gold:
        gold["tools"] = list(gold["tools"])
    whole_minute = not (query.time.second or query.time.microsecond)
    time = query.time.isoformat(timespec="minutes" if whole_minute else "auto")
    return {"id": query.id, "query": query.text, "time": time, "place": query.place, **gold, **query.more}
