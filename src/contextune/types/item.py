"""Item: one mail, event, note, song, search, reminder or call of a user."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

from contextune.errors import InvalidDataError
from contextune.types.app_schema import APPS, AppSchema, app_for, description_of
from contextune.types.field_names import with_own_names
from contextune.types.field_values import people_in, read_time, to_text

Time = datetime | str
"""A `datetime`, or ISO 8601 text such as `2024-05-16T19:00`."""


@dataclass(frozen=True, slots=True)
class Item:
    """One record of a user's applications.

    `fields` holds the application's own fields; `contextune.types.app_schema` says which of them are the
    title, the text, the times and the people. In known applications, common other names of these fields are
    replaced, such as `title` of an event by `event_name` (`contextune.types.field_names`). For known
    applications use `Item.mail(subject=…)`, `Item.event`, `Item.note`, `Item.reminder`, `Item.web_search`,
    `Item.song` and `Item.call`, which name and check the fields. For any other application pass its fields:
    `Item("t1", "Tasks", {"title": …})`.
    """

    id: str
    app: str
    fields: Mapping[str, Any] = field(hash=False)

    def __post_init__(self) -> None:
        if not self.id or not self.app:
            raise InvalidDataError(f"an item needs an id and an app, got id={self.id!r}, app={self.app!r}")
        fields = with_own_names(self.app, self.fields)
        if fields is not self.fields:
            object.__setattr__(self, "fields", fields)

    @classmethod
    def mail(
        cls,
        *,
        subject: str,
        date: Time,
        author: str,
        recipients: Iterable[str] = (),
        content: str = "",
        folder: str = "Inbox",
        id: str | None = None,
        place: str | None = None,
    ) -> "Item":
        """An email. `author` and `recipients` are addresses; `id` defaults to a digest of the fields."""
        return _item(
            "Mail",
            id,
            subject=subject,
            author=author,
            recipients=list(recipients),
            content=content,
            date=date,
            folder=folder,
            place=place,
        )

    @classmethod
    def event(
        cls,
        *,
        name: str,
        start: Time,
        end: Time | None = None,
        location: str | None = None,
        organizer: str | None = None,
        participants: Iterable[str] = (),
        notes: str | None = None,
        category: str | None = None,
        status: str | None = None,
        id: str | None = None,
        place: str | None = None,
    ) -> "Item":
        """A calendar event. `location` is free text; `place` is the key of one of the user's places."""
        return _item(
            "Calendar",
            id,
            event_name=name,
            start_time=start,
            end_time=end,
            location=location,
            organizer=organizer,
            participants=list(participants),
            notes=notes,
            category=category,
            status=status,
            place=place,
        )

    @classmethod
    def note(
        cls,
        *,
        title: str,
        modified: Time,
        content: str = "",
        folder: str | None = None,
        id: str | None = None,
        place: str | None = None,
    ) -> "Item":
        """A note, with the time it was last modified."""
        return _item("Notes", id, title=title, content=content, folder=folder, modified=modified, place=place)

    @classmethod
    def reminder(
        cls,
        *,
        title: str,
        created: Time,
        due: Time | None = None,
        list_name: str | None = None,
        status: str = "open",
        id: str | None = None,
        place: str | None = None,
    ) -> "Item":
        """A reminder or task; `status` is `open` or `done`."""
        return _item(
            "Reminders", id, title=title, list=list_name, due=due, status=status, created=created, place=place
        )

    @classmethod
    def web_search(cls, *, query: str, date: Time, id: str | None = None, place: str | None = None) -> "Item":
        """A web search the user made."""
        return _item("Google", id, query=query, date=date, place=place)

    @classmethod
    def song(
        cls,
        *,
        name: str,
        played: Time,
        artist: str | None = None,
        album: str | None = None,
        playlist: str | None = None,
        id: str | None = None,
        place: str | None = None,
    ) -> "Item":
        """A song, with the time it was last played."""
        return _item(
            "Music",
            id,
            song_name=name,
            artist=artist,
            album_title=album,
            playlist=playlist,
            played_time=played,
            place=place,
        )

    @classmethod
    def call(
        cls,
        *,
        contact: str,
        date: Time,
        number: str | None = None,
        direction: str = "outgoing",
        seconds: int = 0,
        id: str | None = None,
        place: str | None = None,
    ) -> "Item":
        """A phone call; `direction` is `incoming`, `outgoing` or `missed`."""
        return _item(
            "PhoneCall",
            id,
            contact=contact,
            number=number,
            direction=direction,
            date=date,
            duration_s=seconds,
            place=place,
        )

    @property
    def schema(self) -> AppSchema:
        """Which of the fields are title, text, times and people."""
        return app_for(self.app, self.fields)

    @property
    def title(self) -> str:
        """The title: a subject, an event's name, a song's name."""
        schema = self.schema
        title = to_text(self.fields.get(schema.title))
        return (
            title if schema.title_end is None else f"{title} – {to_text(self.fields.get(schema.title_end))}"
        )

    @property
    def label(self) -> str:
        """What to call it on a screen: the title, else the first words of its text, else the id."""
        return self.title or " ".join(self.text.partition(" — ")[2].split()[:8]) or self.id

    @property
    def text(self) -> str:
        """The item as text for search: the kind of item, then its text fields with labels."""
        schema = self.schema
        parts = [schema.noun]
        for name, label in schema.text.items():
            if value := to_text(self.fields.get(name)):
                parts.append(f"{label}: {value}" if label else value)
        return " — ".join(parts)

    @property
    def times(self) -> Mapping[str, datetime]:
        """Times by role (`made`, `start`, `end`, `due`), naive or zoned as stored."""
        values = {role: self.fields.get(name) for role, name in self.schema.times.items()}
        return {role: _time(self, value) for role, value in values.items() if value}

    @property
    def unread_times(self) -> tuple[str, ...]:
        """Fields named like a time whose value cannot be read as one, and is used as text instead.

        Only for applications without fixed fields; in others, such a value is an error.
        """
        return () if self.app in APPS else description_of(self.app).unread_times(self.fields)

    @property
    def made(self) -> datetime | None:
        """When the item was created; None if unknown, as for calendar events."""
        value = self.fields.get(self.schema.made) if self.schema.made else None
        return _time(self, value) if value else None

    @property
    def time(self) -> datetime | None:
        """The time to show: the start, else the due time, else the time of creation."""
        times = self.times
        return times.get("start") or times.get("due") or times.get("made")

    @property
    def place(self) -> str | None:
        """The name of the place where it happens or was made."""
        return self.fields.get("place")

    @property
    def people(self) -> tuple[str, ...]:
        """Names, addresses and numbers of the people in it."""
        people = (person for name in self.schema.people for person in people_in(self.fields.get(name)))
        return tuple(person for person in people if person)


def _item(app: str, id: str | None, **fields: object) -> Item:
    """An item of a known application, without empty fields; times are checked and stored as ISO text."""
    stored = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in fields.items()
        if value not in (None, "", [])
    }
    item = Item(id or _digest(app, stored), app, stored)
    _ = item.times  # raises for a time that cannot be read
    return item


def _digest(app: str, fields: Mapping[str, object]) -> str:
    content = json.dumps([app, fields], sort_keys=True, ensure_ascii=False)
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _time(item: Item, value: object) -> datetime:
    time = read_time(value)
    if time is None:
        raise InvalidDataError(
            f"item {item.id!r} of {item.app}: not a time: {value!r} (write it as 2024-05-16T19:00)"
        )
    return time
