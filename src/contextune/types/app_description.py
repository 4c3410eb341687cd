"""Describe an application by data: which field names stand for title, text, times and people.

A description names alternatives, since the same application exports different field names; `AppDescription.
schema` picks those that an item has. `DESCRIBED_APPS` holds applications that are common but not among those
the bundled models were trained on. Any other application is read by `ANY_APP`, the most common field names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

_TITLES = ("title", "name", "subject", "query", "event_name", "summary", "headline", "filename", "file_name")
_BODIES = ("text", "body", "content", "message", "description", "caption", "note", "notes", "comment")
_MADE = (
    *("date", "created", "modified", "time", "timestamp", "datetime", "created_at", "sent", "sent_at"),
    *("received", "received_at", "posted", "posted_at", "updated", "updated_at", "modified_at"),
    *("last_modified", "taken", "taken_at", "last_contact_date"),
)
_STARTS = ("start_time", "start", "start_at", "starts_at", "start_date", "event_start")
_ENDS = ("end_time", "end", "end_at", "ends_at", "end_date", "event_end")
_DUE = ("due", "due_date", "due_at", "deadline", "follow_up_by")
_PEOPLE = (
    *("author", "recipients", "sender", "organizer", "participants", "contact", "from", "to", "cc"),
    *("attendees", "members", "people", "assignee", "assigned_to", "assigned_to_email", "owner"),
    *("customer_name", "customer_email", "customer_phone", "participant_email", "sender_email"),
)
_MAY_HOLD_TEXT = frozenset(["time", "start", "end", "sent", "received", "posted", "updated", "taken"])
"""Field names that often hold something else than a time, such as "20 min"."""


@dataclass(frozen=True, slots=True)
class AppSchema:
    """Maps the fields of one application to roles."""

    noun: str
    """What a person calls such an item; the item's text begins with it."""
    title: str
    """The field with the title."""
    text: Mapping[str, str]
    """Text fields in reading order, each with its label (empty for none)."""
    made: str | None
    """The field with the time of creation; earlier requests do not see the item."""
    times: Mapping[str, str]
    """Time fields by role: made, start, end, due."""
    people: tuple[str, ...]
    """Fields with names, addresses or numbers of people."""
    verb: str = "opened"
    """The verb for using such an item."""


@dataclass(frozen=True, slots=True)
class AppDescription:
    """Field names by role, the preferred ones first. An item has some of them."""

    noun: str = ""
    """What a person calls such an item; the application's name if empty."""
    titles: Sequence[str] = _TITLES
    bodies: Sequence[str] = _BODIES
    """Running text, which also serves as title where there is none."""
    made: Sequence[str] = _MADE
    starts: Sequence[str] = _STARTS
    ends: Sequence[str] = _ENDS
    due: Sequence[str] = _DUE
    people: Sequence[str] = _PEOPLE
    verb: str = "opened"

    def schema(self, app: str, fields: Mapping[str, object]) -> AppSchema:
        """The schema of an item with these fields."""
        roles = {"made": self.made, "start": self.starts, "end": self.ends, "due": self.due}
        dated = {name for names in roles.values() for name in names if is_time(fields.get(name))}
        times = {
            role: found
            for role, names in roles.items()
            if (found := next((name for name in names if name in dated), None))
        }
        spoken = [name for name in fields if name != "place" and name not in dated]
        title = self._title(spoken, fields)
        return AppSchema(
            noun=self.noun or app,
            title=title,
            text={title: "", **{name: name.replace("_", " ") for name in spoken if name != title}},
            made=times.get("made"),
            times=times,
            people=tuple(name for name in self.people if name in fields),
            verb=self.verb,
        )

    def unread_times(self, fields: Mapping[str, object]) -> tuple[str, ...]:
        """Fields that are named like a time and hold something that cannot be read as one."""
        names = {*self.made, *self.starts, *self.ends, *self.due} - _MAY_HOLD_TEXT
        return tuple(name for name, value in fields.items() if name in names and value and not is_time(value))

    def _title(self, spoken: Sequence[str], fields: Mapping[str, object]) -> str:
        """The field of the title: never a sender, if there is anything else to call the item by."""
        named = (name for name in (*self.titles, *self.bodies) if name in spoken and fields[name])
        others = (name for name in spoken if name not in self.people and isinstance(fields[name], str))
        return next(named, None) or next(others, None) or next(iter(spoken), "")


ANY_APP = AppDescription()
"""For applications that are not described."""
DESCRIBED_APPS: Mapping[str, AppDescription] = {
    "Messages": AppDescription(
        "message", titles=("text", "body", "content", "message"), bodies=(), verb="read"
    ),
    "Tasks": AppDescription("task", titles=("title", "name", "task", "task_name", "summary")),
    "Files": AppDescription(
        "file",
        titles=("name", "filename", "file_name", "title", "path"),
        made=("modified", "modified_at", "last_modified", "mtime", "date", "created", "created_at"),
    ),
    "CRM": AppDescription(
        "customer record",
        titles=("customer_name", "name", "company", "account", "title"),
        made=("last_contact_date", "last_contact", "updated_at", "modified", "created_at", "created", "date"),
    ),
    "Photos": AppDescription(
        "photo",
        titles=("caption", "title", "description", "album", "filename", "file_name", "name"),
        made=("taken", "taken_at", "date", "timestamp", "created", "created_at"),
        people=("people", "faces", "persons"),
        verb="viewed",
    ),
    "Contacts": AppDescription(
        "contact",
        titles=("name", "full_name", "display_name"),
        people=("name", "full_name", "display_name", "email", "emails", "phone", "phones"),
    ),
}
"""Applications beyond those the bundled models were trained on."""


def is_time(value: object) -> bool:
    """Whether the value is a time, or ISO 8601 text."""
    if not isinstance(value, str):
        return isinstance(value, datetime)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True
