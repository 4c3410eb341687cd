"""What is kept of a user: their items, when they turned to them, and whom they know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from contextune.errors import InvalidDataError
from contextune.types.app_schema import AppSchema, app_for
from contextune.types.time_place import Coordinates


@dataclass(frozen=True, slots=True)
class Item:
    """One thing a user's applications hold: a mail, an event, a note, a song played, a call.

    `fields` are the application's own, untouched; `contextune.types.app_schema` says how to read them.
    """

    id: str
    app: str
    fields: Mapping[str, Any] = field(hash=False)

    def __post_init__(self) -> None:
        if not self.id or not self.app:
            raise InvalidDataError(f"an item needs an id and an app, not id={self.id!r}, app={self.app!r}")

    @property
    def schema(self) -> AppSchema:
        """How this item's application names its fields."""
        return app_for(self.app, self.fields)

    @property
    def title(self) -> str:
        """What a person would call it."""
        return _text(self.fields.get(self.schema.title, ""))

    @property
    def text(self) -> str:
        """The item in words, for search: what kind of thing it is, then its text fields, labelled."""
        schema = self.schema
        parts = [schema.noun]
        for name, label in schema.text.items():
            if value := _text(self.fields.get(name)):
                parts.append(f"{label}: {value}" if label else value)
        return " — ".join(parts)

    @property
    def times(self) -> Mapping[str, datetime]:
        """Its times by role (made, start, end, due), as given: naive or zoned."""
        found = {role: self.fields.get(name) for role, name in self.schema.times.items()}
        return {role: _time(self, value) for role, value in found.items() if value}

    @property
    def made(self) -> datetime | None:
        """When it came to be, or None where that is not known, as for planned events."""
        value = self.fields.get(self.schema.made) if self.schema.made else None
        return _time(self, value) if value else None

    @property
    def time(self) -> datetime | None:
        """The time a person would name it by: when it starts, else when it is due, else when it was made."""
        times = self.times
        return times.get("start") or times.get("due") or times.get("made")

    @property
    def place(self) -> str | None:
        """The name of the place where it happens or was made."""
        return self.fields.get("place")

    @property
    def people(self) -> tuple[str, ...]:
        """Names, addresses and numbers of the people in it."""
        found: list[str] = []
        for name in self.schema.people:
            value = self.fields.get(name)
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, Sequence):
                found.extend(map(str, cast("Sequence[object]", value)))
        return tuple(person for person in found if person)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, cast("Sequence[object]", value)))
    return str(value)


def _time(item: Item, value: object) -> datetime:
    try:
        return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidDataError(
            f"item {item.id!r} of {item.app}: {value!r} is no time; write it as 2024-05-16T19:00"
        ) from None


@dataclass(frozen=True, slots=True)
class UsageEvent:
    """One time the user opened, played or otherwise turned to an item."""

    item: str
    time: datetime
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Contact:
    """Somebody the user knows. `more` keeps whatever else the address book says."""

    name: str
    email: str | None = None
    phone: str | None = None
    relation: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)


@dataclass(frozen=True, slots=True)
class User:
    """Whose data it is: profile, named places, contacts, and the zone of their wall clock."""

    id: str
    profile: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    places: Mapping[str, Coordinates] = field(default_factory=dict[str, Coordinates], hash=False)
    contacts: tuple[Contact, ...] = ()
    zone: ZoneInfo | None = None

    def __post_init__(self) -> None:
        if not self.id:
            raise InvalidDataError("a user needs an id that is not empty")
