"""Which fields of an application are its title, text, times and people.

The applications in `APPS` have fixed fields; the bundled models were trained on them. Others are described by
alternatives of field names (`app_description`): common ones are bundled, `describe_app` adds your own, and
the rest is inferred.
"""

from collections.abc import Mapping

from contextune.errors import InvalidDataError
from contextune.types.app_description import ANY_APP, DESCRIBED_APPS, AppDescription, AppSchema

__all__ = [
    "APPS",
    "AppDescription",
    "AppSchema",
    "app_for",
    "describe_app",
    "described_apps",
    "description_of",
]

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

_descriptions: dict[str, AppDescription] = dict(DESCRIBED_APPS)


def describe_app(name: str, description: AppDescription) -> None:
    """Describe an application, for all items of this process; replaces an earlier description."""
    if name in APPS:
        raise InvalidDataError(
            f"the fields of {name!r} are fixed, since the bundled models read them: choose another name"
        )
    _descriptions[name] = description


def described_apps() -> Mapping[str, AppDescription]:
    """The applications that are described in this process."""
    return _descriptions


def description_of(name: str) -> AppDescription:
    """The description of an application that is not in `APPS`; that of any application if it has none."""
    return _descriptions.get(name, ANY_APP)


def app_for(name: str, fields: Mapping[str, object]) -> AppSchema:
    """The schema of a known application, else one that follows from its description and the item's fields."""
    return APPS[name] if name in APPS else description_of(name).schema(name, fields)
