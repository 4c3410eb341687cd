"""Personas with applications that no model knows, with dates and people as ever.

The bundled personas have seven applications. A ranker that has seen no others takes whatever belongs to one
of the seven for more likely than the rest.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from contextune.datasets import Persona
from contextune.types import Item

Fields = Mapping[str, object]


def recast_persona(persona: Persona, draw: random.Random) -> Persona:
    """The persona with the items of one to three of its applications moved to others; ids stay."""
    apps = sorted({item.app for item in persona.items})
    chosen = draw.sample(apps, min(len(apps), draw.randint(1, 3)))
    names = draw.sample(sorted(_FORMS), len(chosen))
    new_app = dict(zip(chosen, names, strict=True))
    items = tuple(_recast(item, new_app[item.app]) if item.app in new_app else item for item in persona.items)
    return replace(persona, items=items)


def text_of(item: Item) -> str:
    """What the item says, without the name of its application."""
    return item.text.partition(" — ")[2] or item.text


def _recast(item: Item, app: str) -> Item:
    fields = {name: value for name, value in _FORMS[app](item).items() if value}
    return Item(item.id, app, {**fields, "place": item.place} if item.place else fields)


def _time(item: Item) -> str:
    times = item.times
    time = times.get("made") or times.get("start") or times.get("due")
    return time.isoformat(timespec="minutes") if time else ""


def _message(item: Item) -> Fields:
    return {"sender": next(iter(item.people), ""), "text": text_of(item), "date": _time(item)}


def _post(item: Item) -> Fields:
    return {"author": next(iter(item.people), ""), "message": text_of(item), "created_at": _time(item)}


def _task(item: Item) -> Fields:
    people = list(item.people)
    return {"title": text_of(item), "due": _time(item), "assignee": people[0] if people else ""}


def _file(item: Item) -> Fields:
    return {"name": item.title, "description": text_of(item), "modified": _time(item)}


def _entry(item: Item) -> Fields:
    return {"text": text_of(item), "date": _time(item)}


def _record(item: Item) -> Fields:
    return {
        "name": item.title,
        "notes": text_of(item),
        "contact": list(item.people),
        "updated_at": _time(item),
    }


_FORMS: Mapping[str, Callable[[Item], Fields]] = {
    "Messages": _message,
    "Chat": _message,
    "Feed": _post,
    "Tasks": _task,
    "Tickets": _task,
    "Files": _file,
    "Journal": _entry,
    "CRM": _record,
}
