"""Which fields of an application are its title, text, times and people.

Known applications have an entry in `APPS`. For any other, the schema is inferred from common field names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


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


APPS: Mapping[str, AppSchema] = {
    "Mail": AppSchema(
        noun="email",
        title="subject",
        text={"subject": "", "content": "", "author": "from", "recipients": "to", "folder": "folder"},
        made="date",
        times={"made": "date"},
        people=("author", "recipients"),
    ),
    "Calendar": AppSchema(
        noun="calendar event",
        title="event_name",
        text={
            "event_name": "",
            "notes": "",
            "location": "at",
            "organizer": "organizer",
            "participants": "with",
            "category": "category",
            "status": "status",
        },
        made=None,  # calendars store when an event takes place, not when it was entered
        times={"start": "start_time", "end": "end_time"},
        people=("organizer", "participants"),
    ),
    "Google": AppSchema(
        noun="web search", title="query", text={"query": ""}, made="date", times={"made": "date"}, people=()
    ),
    "Notes": AppSchema(
        noun="note",
        title="title",
        text={"title": "", "content": "", "folder": "folder"},
        made="modified",
        times={"made": "modified"},
        people=(),
    ),
    "Music": AppSchema(
        noun="song played",
        title="song_name",
        text={"song_name": "", "artist": "by", "album_title": "album", "playlist": "playlist"},
        made="played_time",
        times={"made": "played_time"},
        people=("artist",),
        verb="played",
    ),
    "Reminders": AppSchema(
        noun="reminder",
        title="title",
        text={"title": "", "list": "list", "status": "status"},
        made="created",
        times={"made": "created", "due": "due"},
        people=(),
    ),
    "PhoneCall": AppSchema(
        noun="phone call",
        title="contact",
        text={"contact": "", "direction": "", "number": "number"},
        made="date",
        times={"made": "date"},
        people=("contact", "number"),
        verb="called",
    ),
}

_TITLES = ("title", "name", "subject", "query", "event_name")
_MADE = ("date", "created", "modified", "time", "timestamp")
_TIMES = {"start": ("start_time", "start"), "end": ("end_time", "end"), "due": ("due",)}
_PEOPLE = ("author", "recipients", "sender", "organizer", "participants", "contact")
_DATED = frozenset({*_MADE, *(name for names in _TIMES.values() for name in names)})


def app_for(name: str, fields: Mapping[str, object]) -> AppSchema:
    """The schema of a known application, else one inferred from the item's fields."""
    if name in APPS:
        return APPS[name]
    # a field called "time" may hold something else, such as "20 min"
    dated = {f for f in _DATED & fields.keys() if _is_time(fields[f])}
    made = next((f for f in _MADE if f in dated), None)
    times = {
        role: found
        for role, names in _TIMES.items()
        if (found := next((f for f in names if f in dated), None))
    }
    spoken = [f for f in fields if f != "place" and f not in dated]
    title = next((f for f in _TITLES if f in fields), next(iter(spoken), ""))
    return AppSchema(
        noun=name,
        title=title,
        text={title: "", **{f: f.replace("_", " ") for f in spoken if f != title}},
        made=made,
        times={"made": made, **times} if made else times,
        people=tuple(f for f in _PEOPLE if f in fields),
    )


def _is_time(value: object) -> bool:
    if not isinstance(value, str):
        return isinstance(value, datetime)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True
